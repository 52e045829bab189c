"""Show what a run left out: next pages first, then links by reason, missing entries and empty fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from smartspider.core.frontier.cause import LOST_CAUSES
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.core.requests.refusal import RefusalCode
    from smartspider.services.runs.choose_run import Summary
    from smartspider.views.left_out import LeftOutExample, LeftOutView
    from smartspider.views.runs import StatusView

REASONS: dict[RefusalCode, str] = {
    "robots": "disallowed by robots.txt",
    "nofollow": "marked nofollow",
    "scope_host": "on other hosts than those in scope",
    "scope_allow": "matched by no allow pattern",
    "scope_deny": "matched by a deny pattern",
    "depth": "too deep",
    "trap": "refused by trap limits",
    "not_http": "not http or https",
    "limit": "not fetched when a limit was reached",
    "stop_when": "behind a stop_when condition",
    "repeated": "behind a page with the items of an earlier one",
    "recrawl": "fetched recently by an earlier run",
    "private_address": "at private addresses",
    "host_held": "on hosts that asked for a long pause",
    "run_ended": "not fetched when the run ended",
    "other": "skipped",
}


class SeenCounts(msgspec.Struct, frozen=True):
    """The parts of what a run met; their sum is everything."""

    stored: int
    redirected: int
    missing: int
    failed: int
    left_out: int
    open: int


def seen_line(seen: SeenCounts, left_out: Sequence[LeftOutView]) -> str:
    """Return what was seen as a sum: `seen: 7 URLs = 4 stored + 3 left out`."""
    counts = msgspec.structs.asdict(seen)
    parts = " + ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items() if number)
    at_least = "at least " if any(one.is_at_least for one in left_out) else ""
    return f"seen: {at_least}{count(sum(counts.values()), 'URL')} = {parts}"


def left_out_lines(left_out: Sequence[LeftOutView]) -> list[str]:
    """Return a line for each next page that was not followed, and one for each other reason."""
    lines = []
    for one in left_out:
        lines += _next_page_lines(one) if one.is_next_page else [_reason_line(one)]
    return lines


def missing_lines(missing_entries: Sequence[str], number: int, empty_fields: Sequence[str]) -> list[str]:
    """Return the entries that do not exist, and the fields that no row has."""
    lines = [f"missing entry: {url}" for url in missing_entries]
    if number > len(missing_entries):
        lines.append(f"  and {number - len(missing_entries)} more of {number} missing entries")
    if empty_fields:
        lines.append(f"no row has a value for: {', '.join(empty_fields)}")
    return lines


def lost_lines(lost: StatusView | Summary) -> list[str]:
    """Return the next pages and files that a finished run did not get."""
    lines = []
    for page in lost.lost_next_pages:
        if page.cause in LOST_CAUSES:
            lines.append(f"lost: {page.url} ({page.reason})")
        elif page.state == "missing":
            lines.append(f"next page missing: {page.url} ({page.reason or 'it does not exist'})")
        else:
            lines.append(f"next page failed: {page.url} ({page.reason}); the pages after it were not reached")
    more = lost.lost_next_page_count - len(lost.lost_next_pages)
    lines += [f"  and {count(more, 'page')} more"] if more > 0 else []
    lines += [f"missing file: {url}" for url in lost.missing_files]
    more = lost.missing_file_count - len(lost.missing_files)
    lines += [f"  and {count(more, 'missing file')} more"] if more > 0 else []
    return lines + _coverage_lines(lost)


def is_whole(lost: StatusView | Summary, failed: int) -> bool:
    """Return whether nothing of a finished run failed or was lost."""
    return not (failed or lost.lost_count or lost.unmatched)


def _coverage_lines(lost: StatusView | Summary) -> list[str]:
    """Return the page types on which no rule matched, and the pages that brought less than others."""
    lines = [
        f"no rule of page type {one.page!r} found a value on {_pages(one.pages, one.example)}"
        for one in lost.unmatched
    ]
    for gap in lost.gaps:
        what = "no item" if gap.field is None else f"no {gap.field!r}"
        where = f"{gap.count} of {count(gap.of, 'page')} of type {gap.page!r}, such as {gap.example}"
        lines.append(f"note: {what} on {where}")
    if lost.undecodable is not None:
        where = _pages(lost.undecodable.count, lost.undecodable.example)
        lines.append(f"note: bytes that are no characters of the charset became \ufffd on {where}")
    return lines


def _pages(number: int, example: str) -> str:
    return example if number == 1 else f"{number} pages, such as {example}"


def run_left_out_lines(run: StatusView) -> list[str]:
    """Return all that a run says about what it left out."""
    open_count = run.queued + run.in_flight
    seen = SeenCounts(
        *(run.success_count, run.redirect_count, run.missing_count, run.fail_count),
        *(run.left_out_count, open_count),
    )
    lines = [seen_line(seen, run.left_out), *left_out_lines(run.left_out)] if run.left_out else []
    missing = missing_lines(run.missing_entries, run.missing_entry_count, run.empty_fields)
    return [*lines, *missing, *lost_lines(run)]


def _next_page_lines(one: LeftOutView) -> list[str]:
    examples = [example for example in (one.example, *one.others) if example is not None]
    lines = [
        f"next page not followed: {example.url} ({example.detail}{_source(example)})" for example in examples
    ]
    more = one.count - len(examples)
    if more > 0:
        pages = count(more, "next page")
        lines.append(f"  and {'at least ' if one.is_at_least else ''}{pages} more {REASONS[one.reason]}")
    return lines


def _reason_line(one: LeftOutView) -> str:
    number = f"{'at least ' if one.is_at_least else ''}{count(one.count, 'URL')}"
    example = one.example
    where = "" if example is None else f", such as {example.url} ({example.detail}{_source(example)})"
    return f"left out: {number} {REASONS[one.reason]}{where}"


def _source(example: LeftOutExample) -> str:
    return "" if example.parent is None else f"; linked from {example.parent}"
