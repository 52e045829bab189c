"""Digests of pages of lists: equal for pages that bring the same, and for no others."""

from __future__ import annotations

from typing import Any

import pytest

from smartspider.core.pages.extraction import Extraction, Item, Link, RejectedItem
from smartspider.core.pages.list_digest import ListDigests
from smartspider.core.pages.rules import NextLinkPagination, PagePlan, ValueRule
from smartspider.core.requests.request import Extras

NEXT = NextLinkPagination(ValueRule("css", "a.next"))
PLAN = PagePlan(
    "list", fields={"name": ValueRule("css", "b"), "url": ValueRule("meta", "url")}, pagination=NEXT
)
NAMES = [f"entry {number}" for number in range(5)]


def items(names: list[str], url: str = "") -> list[Item]:
    return [{"name": name, "url": url} for name in names]


def links(*hrefs: str) -> list[Link]:
    return [Link(href, "entry") for href in hrefs]


def digest(names: list[str], found: list[Link] | None = None, *, body: str = "", **more: Any) -> bytes:
    extraction = Extraction(items(names, more.pop("url", "")), found or [], "http://h/list", **more)
    return ListDigests(PLAN).digest(extraction, body.encode())


def test_the_order_of_items_and_what_is_not_of_the_page_make_no_difference() -> None:
    assert digest(NAMES, body="one", url="http://h/1") == digest(NAMES[::-1], body="two", url="http://h/2")


def test_other_items_or_links_make_another_digest() -> None:
    assert digest(NAMES) != digest([*NAMES[1:], "entry 5"])
    assert digest(NAMES, links("/a")) != digest(NAMES, links("/b"))
    posted = [Link("/a", "entry", extras=Extras("POST", body=body)) for body in (b"1", b"2")]
    assert digest(NAMES, posted[:1]) != digest(NAMES, posted[1:])


def test_next_pages_and_session_ids_make_no_difference() -> None:
    further = [Link(f"/list?t={time}", "list", is_pagination=True) for time in (1, 2)]
    assert digest(NAMES, further[:1]) == digest(NAMES, [*further[1:], *links("/list?t=2")])
    one, two = "0123456789abcdef" * 2, "fedcba9876543210" * 2
    assert digest(NAMES, links(f"/a;jsessionid={one}?x=1")) == digest(
        NAMES, links(f"/a;jsessionid={two}?x=1")
    )
    assert digest([*NAMES, f"/a?sid={one}"]) == digest([*NAMES, f"/a?sid={two}"])
    assert digest([*NAMES, "/a?sid=1"]) != digest([*NAMES, "/a?sid=2"])


@pytest.mark.parametrize("names", [["5", "4", "5"], ["in stock"] * 20], ids=["few", "all equal"])
def test_values_that_are_equal_by_chance_prove_nothing(names: list[str]) -> None:
    assert digest(names, body="<p>one</p>") != digest(names, body="<p>two</p>")
    assert digest(names, body='<a href="?t=1">') == digest(names, body='<a href="?t=2">')


def test_rejected_items_and_those_of_types_that_emit_none_count() -> None:
    rejected = [RejectedItem("r", item) for item in items(NAMES)]
    assert digest([], rejected=rejected) == digest([], unemitted=items(NAMES)) == digest(NAMES)


def test_a_page_that_brings_nothing_has_none() -> None:
    assert digest([], body="x") == digest([""], body="x", url="http://h/1") == b""
    no_list = PagePlan("page", fields=PLAN.fields)
    assert ListDigests(no_list).digest(Extraction(items(NAMES), [], "http://h/"), b"") == b""
