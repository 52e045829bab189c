"""Lists that end because what they show is too old."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from smartspider.core.events import Event, FieldsDropped
from smartspider.core.frontier.verdict import Close
from smartspider.core.pages.extraction import Extraction, Link, RejectedItem
from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import DateCutoff, PagePlan, StopConditions
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import Request, make_request
from smartspider.core.requests.scope import UrlScope
from smartspider.core.runs.plan import Plan
from smartspider.engine.answer_reader import AnswerReader, is_list_too_old
from smartspider.engine.link_filter import LinkFilter
from smartspider.engine.runtime import LocalBus

NOW = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
WEEK = DateCutoff("date", age_s=7 * 86_400.0)


def dated(*dates: Any) -> Extraction:
    return Extraction([{"date": date} for date in dates], [], "http://h/")


@pytest.mark.parametrize(
    ("dates", "is_old"),
    [
        (["2026-02-01"], True),
        (["2026-02-01T10:00:00Z", "2026-02-01T10:00:00+08:00"], True),
        (["2026-02-01", "2026-02-27"], False),
        (["2026-02-22T00:00:00+00:00"], False),
        (["2026-02-21T23:59:59"], True),
        (["2026-02-01", None, "soon", 17, "", "9999-99-99"], True),
        ([None, "soon"], False),
        ([], False),
    ],
)
def test_all_dates_have_to_be_older(dates: list[Any], is_old: bool) -> None:
    assert is_list_too_old(dated(*dates), WEEK, NOW) is is_old


def test_a_fixed_date_is_compared_as_it_is() -> None:
    older = DateCutoff("date", moment=datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    assert is_list_too_old(dated("2025-12-31"), older, NOW)
    assert not is_list_too_old(dated("2026-01-01"), older, NOW)


def test_items_that_were_rejected_or_give_no_rows_count() -> None:
    rejected = Extraction([], [], "http://h/", rejected=[RejectedItem("old", {"date": "2020-01-01"})])
    assert is_list_too_old(rejected, WEEK, NOW)
    assert is_list_too_old(Extraction([], [], "http://h/", unemitted=[{"date": "2020-01-01"}]), WEEK, NOW)
    mixed = Extraction([{"date": "2020-01-01"}], [], "http://h/", unemitted=[{"date": "2026-03-01"}])
    assert not is_list_too_old(mixed, WEEK, NOW)


class Gives:
    def __init__(self, extraction: Extraction) -> None:
        self._extraction = extraction

    def extract(self, page: Page, request: Request) -> Extraction:
        return self._extraction

    def engine_of(self, page: str) -> str:
        return page


LINKS = [Link("/2", "list", is_pagination=True), Link("/a", "list")]


def read(
    extraction: Extraction,
    *,
    obey: bool = True,
    kind: Any = "rules",
    stop_when: StopConditions = StopConditions(older_than=WEEK),
    **headers: str,
) -> tuple[Close, list[Event]]:
    page_plan = PagePlan("list", stop_when=stop_when, kind=kind)
    plan = Plan(
        "t", b"{}", "hash", (), {"list": page_plan}, UrlScope(hosts=frozenset({"h"})),
        politeness=PolitenessPolicy(obey_robots=obey),
    )  # fmt: skip
    events: list[Event] = []
    bus = LocalBus()
    bus.subscribe(events.append)
    reader = AnswerReader(7, plan, Gives(extraction), None, LinkFilter(plan, lambda _: None), bus=bus)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    page = Page("http://h/", 200, named, b"", "utf-8", NOW)
    close = reader.read(page, make_request("http://h/", page="list")).close
    assert close is not None
    return close, events


@pytest.mark.parametrize(("date", "paths"), [("2026-02-28", ["/2", "/a"]), ("2026-01-01", ["/a"])])
def test_an_old_page_keeps_its_links_but_has_no_next_one(date: str, paths: list[str]) -> None:
    close, _ = read(Extraction([{"date": date}], LINKS, "http://h/"))
    assert [child.url for child in close.children] == [f"http://h{path}" for path in paths]


def test_next_pages_that_wait_for_the_ledger_are_in_the_reading() -> None:
    extraction = Extraction([{"date": "2026-02-28"}], LINKS, "http://h/")
    close, _ = read(extraction, stop_when=StopConditions(seen=True))
    assert [page.url for page in close.next_pages] == ["http://h/2"]
    assert [child.url for child in close.children] == ["http://h/a"]


@pytest.mark.parametrize(
    ("obey", "kind", "count"), [(True, "rules", 0), (False, "rules", 2), (True, "sitemap", 2)]
)
def test_a_header_against_following_holds_for_pages_of_a_task_that_obeys(
    obey: bool, kind: Any, count: int
) -> None:
    close, _ = read(Extraction([], LINKS, "http://h/"), obey=obey, kind=kind, x_robots_tag="nofollow")
    assert len(close.children) == count


def test_fields_that_were_too_large_to_carry_are_told_about() -> None:
    _, events = read(Extraction([], [], "http://h/", carries_dropped=3))
    assert events == [FieldsDropped(7, "h", "http://h/", 3)]
