"""Read what a run left out, by reason. All functions run inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.core.requests.refusal import EXPECTED, RefusalCode
from smartspider.core.runs.run import FINISHED
from smartspider.store import statements
from smartspider.store.database import Connection, RowCursor, row, rows
from smartspider.store.settle.fields import RunFields, decode_fields
from smartspider.views.left_out import CoverageGap, LostPage, UndecodablePages, UnmatchedPages

SQL = statements.load("left_out_report.sql", __package__)

NEXT_PAGES_SHOWN = 5
ENTRIES_SHOWN = 5
LOST_SHOWN = 5
GAPS_SHOWN = 10
USUAL_AFTER, USUAL = 5, 0.8
"""A field is usual if it has a value on this share of at least so many pages."""


class LeftOutRecord(msgspec.Struct, frozen=True):
    """A URL that was left out. `parent` is the first page that links to it, None for an entry."""

    code: RefusalCode
    is_next_page: bool
    url: str
    detail: str
    parent: str | None


class LeftOutReason(msgspec.Struct, frozen=True):
    """The URLs that a run left out for one reason. `is_cut`: at least so many."""

    code: RefusalCode
    is_next_page: bool
    count: int
    is_cut: bool
    examples: list[LeftOutRecord]
    """One; of next pages some more."""


class LeftOutReport(msgspec.Struct, frozen=True):
    """The URLs that a run left out by reason, next pages first, and what its rows and entries lack."""

    reasons: list[LeftOutReason] = []
    missing_entries: list[str] = []
    """The first of them."""
    missing_entry_count: int = 0
    empty_fields: list[str] = []
    """Fields without a value in any stored row."""
    lost_next_pages: list[LostPage] = []
    """The first next pages that failed or do not exist, and requests that did not bring what they were
    followed for. Read once the run has ended, like files.
    """
    lost_next_page_count: int = 0
    lost_count: int = 0
    """Number of lost pages that brought something else than they were followed for."""
    missing_files: list[str] = []
    missing_file_count: int = 0
    unmatched: list[UnmatchedPages] = []
    """Page types whose rules found nothing at all; read once the run has ended, like gaps."""
    gaps: list[CoverageGap] = []
    undecodable: UndecodablePages | None = None

    @property
    def is_cut(self) -> bool:
        """True if more links were left out than are stored."""
        return any(reason.is_cut for reason in self.reasons)


def read_report(connection: Connection, run_id: int) -> LeftOutReport:
    """Return what a run left out. All examples are asked for before the first is read."""
    counted = [one for one in rows(connection, SQL.counts, (run_id,)) if one[2] + one[3] or one[4]]
    asked = [_ask_examples(connection, run_id, code, is_next) for code, is_next, *_ in counted]
    entries = connection.execute(SQL.missing_entries, (run_id, ENTRIES_SHOWN))
    entry_count = connection.execute(SQL.count_missing_entries, (run_id,))
    fields = connection.execute(SQL.fields, (run_id,))
    reasons = [
        LeftOutReason(code, bool(is_next), links + requests, bool(is_cut), _examples(code, is_next, *cursors))
        for (code, is_next, links, requests, is_cut), cursors in zip(counted, asked, strict=True)
    ]
    stored = fields.fetchone()
    number = entry_count.fetchone()
    fields_column, state = (None, "") if stored is None else stored
    brought = decode_fields(fields_column)
    report = LeftOutReport(
        sorted(reasons, key=_order),
        [url for (url,) in entries],
        int(number[0]) if number else 0,
        [name for name, has_value in brought.filled.items() if not has_value],
    )
    if state not in FINISHED:
        return report
    return _with_coverage(connection, _with_lost(connection, run_id, report), brought)


def _with_lost(connection: Connection, run_id: int, report: LeftOutReport) -> LeftOutReport:
    """Return the report with next pages and files that a finished run did not get."""
    lost = rows(connection, SQL.lost, (run_id, LOST_SHOWN))
    failed = rows(connection, SQL.lost_next_pages, (run_id, LOST_SHOWN))
    lost_count = _number(connection, SQL.count_lost, run_id, len(lost))
    files = rows(connection, SQL.missing_files, (run_id, LOST_SHOWN))
    return msgspec.structs.replace(
        report,
        lost_next_pages=[LostPage(*one) for _, *one in sorted((*lost, *failed))[:LOST_SHOWN]],
        lost_next_page_count=lost_count + _number(connection, SQL.count_lost_next_pages, run_id, len(failed)),
        lost_count=lost_count,
        missing_files=[url for (url,) in files],
        missing_file_count=_number(connection, SQL.count_missing_files, run_id, len(files)),
    )


def _with_coverage(connection: Connection, report: LeftOutReport, brought: RunFields) -> LeftOutReport:
    """Return the report with page types on which no rule matched, and with pages that brought less than
    others of their type.
    """
    unmatched: list[UnmatchedPages] = []
    gaps: list[CoverageGap] = []
    for page, coverage in brought.coverage.items():
        if not coverage.bringing:
            unmatched.append(UnmatchedPages(page, coverage.pages, _url(connection, coverage.example)))
            continue
        if 0 < coverage.pages - coverage.bringing <= coverage.bringing:
            bare = coverage.pages - coverage.bringing
            gaps.append(CoverageGap(page, None, bare, coverage.pages, _url(connection, coverage.example)))
        for name, field in coverage.fields.items():
            bare = coverage.bringing - field.pages
            if bare and coverage.bringing >= USUAL_AFTER and field.pages >= USUAL * coverage.bringing:
                example = _url(connection, field.example)
                gaps.append(CoverageGap(page, name, bare, coverage.bringing, example))
    marked = brought.undecodable
    undecodable = UndecodablePages(marked.pages, _url(connection, marked.example)) if marked.pages else None
    return msgspec.structs.replace(
        report, unmatched=unmatched, gaps=gaps[:GAPS_SHOWN], undecodable=undecodable
    )


def _url(connection: Connection, url_id: int) -> str:
    found = row(connection, SQL.url, (url_id,))
    return str(found[0]) if found else ""


def _number(connection: Connection, count: str, run_id: int, shown: int) -> int:
    """Return how many there are; they are counted only if more than the shown ones are possible."""
    if shown < LOST_SHOWN:
        return shown
    found = row(connection, count, (run_id,))
    return int(found[0]) if found else shown


def find_left_out(connection: Connection, run_id: int, fingerprint: bytes, url: str) -> LeftOutRecord | None:
    """Return a link that was left out, by the fingerprint of its request, or else by its URL."""
    found = row(connection, SQL.by_print, (run_id, fingerprint)) or row(connection, SQL.by_url, (run_id, url))
    if found is None:
        return None
    code, is_next_page, *rest = found
    return LeftOutRecord(code, bool(is_next_page), *rest)


def _ask_examples(
    connection: Connection, run_id: int, code: RefusalCode, is_next_page: int
) -> tuple[RowCursor, RowCursor]:
    wanted = (run_id, code, is_next_page, NEXT_PAGES_SHOWN if is_next_page else 1)
    return connection.execute(SQL.links, wanted), connection.execute(SQL.requests, wanted)


def _examples(
    code: RefusalCode, is_next_page: int, links: RowCursor, requests: RowCursor
) -> list[LeftOutRecord]:
    found = [LeftOutRecord(code, bool(is_next_page), *one) for cursor in (links, requests) for one in cursor]
    return found[: NEXT_PAGES_SHOWN if is_next_page else 1]


def _order(reason: LeftOutReason) -> tuple[bool, bool, int, str]:
    """Return a sort key: next pages first, and of these the ones that the task does not ask to leave out."""
    return not reason.is_next_page, reason.code in EXPECTED, -reason.count, reason.code
