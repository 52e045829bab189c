"""The lines that say what a run left out."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from smartspider.cli.runs.left_out import (
    REASONS,
    SeenCounts,
    left_out_lines,
    lost_lines,
    missing_lines,
    seen_line,
)
from smartspider.core.requests.refusal import RefusalCode
from smartspider.services.runs.choose_run import Summary
from smartspider.views.left_out import LeftOutExample, LeftOutView, LostPage


def left_out(
    reason: RefusalCode = "robots", count: int = 1, *urls: str, is_next_page: bool = False, **more: Any
) -> LeftOutView:
    examples = [LeftOutExample(url, "http://h/", "robots: disallowed") for url in urls]
    first = examples[0] if examples else None
    more = {"is_at_least": False, **more}
    return LeftOutView(reason, is_next_page, count, example=first, others=examples[1:], **more)


def test_every_code_has_words() -> None:
    assert REASONS.keys() == set(get_args(RefusalCode))


def test_next_pages_are_named_one_by_one_with_their_rule_and_their_page() -> None:
    first, second, rest = left_out_lines(
        [left_out("robots", 4, "http://h/2", "http://h/3", is_next_page=True)]
    )
    for line, url in ((first, "http://h/2"), (second, "http://h/3")):
        assert line.startswith("next page not followed: ")
        assert url in line
        assert "robots: disallowed" in line
        assert "http://h/" in line
    assert "2 next pages" in rest


def test_other_reasons_are_a_line_each_with_count_and_example() -> None:
    (line,) = left_out_lines([left_out("scope_host", 12, "http://o/a")])
    assert "12 URLs" in line
    assert "http://o/a" in line
    assert REASONS["scope_host"] in line
    (cut,) = left_out_lines([left_out("scope_host", 12, is_at_least=True)])
    assert "at least 12 URLs" in cut


def test_an_entry_has_no_page_that_links_to_it() -> None:
    view = LeftOutView("robots", False, 1, False, LeftOutExample("http://h/", None, "why"), [])
    assert "linked from" not in left_out_lines([view])[0]


def test_the_parts_of_what_was_seen_add_up() -> None:
    line = seen_line(SeenCounts(4, 0, 1, 0, 3, 0), [left_out()])
    assert line == "seen: 8 URLs = 4 stored + 1 missing + 3 left out"
    assert "at least 8 URLs" in seen_line(SeenCounts(4, 0, 1, 0, 3, 0), [left_out(is_at_least=True)])


def test_missing_entries_are_named_and_the_rest_counted() -> None:
    first, rest, fields = missing_lines(["http://h/gone"], 3, ["sku", "price"])
    assert "http://h/gone" in first
    assert "2 more" in rest
    assert fields.endswith("sku, price")
    assert missing_lines([], 0, []) == []


def test_lost_next_pages_and_files_are_named_and_the_rest_counted() -> None:
    pages = [
        LostPage("http://h/2", "dead", "http 500", "http_server_error"),
        LostPage("http://h/9", "missing", "http 404", "not_found"),
    ]
    summary = msgspec.convert(
        {
            **dict.fromkeys(("run_id", "state", "reason"), ""),
            **dict.fromkeys(("pages", "items", "failed", "missing", "duplicates", "rejected"), 0),
            **dict.fromkeys(("duration_s", "seen", "redirects", "open", "left_out_count"), 0),
            **dict.fromkeys(("outputs", "left_out", "missing_entries", "empty_fields"), ()),
            "missing_entry_count": 0,
            "files": 0,
            "lost_next_pages": msgspec.to_builtins(pages),
            "lost_next_page_count": 4,
            "lost_count": 0,
            "unmatched": [],
            "gaps": [],
            "undecodable": {"count": 3, "example": "http://h/c"},
            "missing_files": ["http://h/a.png"],
            "missing_file_count": 2,
        },
        Summary,
    )
    failed, missing, more_pages, file, more_files, undecodable = lost_lines(summary)
    assert "http://h/2" in failed
    assert "http 500" in failed
    assert "not reached" in failed
    assert "http://h/9" in missing
    assert "2 pages" in more_pages
    assert "http://h/a.png" in file
    assert "1 missing file" in more_files
    assert "3 pages, such as http://h/c" in undecodable
