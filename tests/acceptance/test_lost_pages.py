"""What a page was followed for and did not bring is fetched again, or said: never lost in silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.acceptance.workshop import Finished, Site, Workshop, html, written_site

from smartspider.demo.process import site_process
from smartspider_testing.sites.members import members_task

pytestmark = pytest.mark.acceptance

FAST = {"robots": "ignore", "delay_s": 0, "adaptive": False}
BUSY = {"body": "<!DOCTYPE html><title>Busy</title><p>busy, try later</p>"}
LOGIN = html("Sign in", extra='<form><input name="user"><input type="password" name="p"></form>')
WAYS = ["redirect to the home page", "redirect to a page for whatever is gone", "redirect to a login form"]


def crawl(workshop: Workshop, task: dict[str, Any]) -> Finished:
    workshop.write({"name": "lost", "politeness": FAST, "retry": {"backoff_s": 0}, **task})
    return workshop.run("crawl", "task.json", "-o", "rows.jsonl", "--json")


def moved(target: str) -> dict[str, Any]:
    return {"status": 302, "headers": {"Location": target}}


def shown(number: int, links: str = "") -> dict[str, Any]:
    """A page of a list with five items."""
    items = "".join(f'<li class="item"><b>{number}.{item}</b></li>' for item in range(5))
    return {"body": f"<!DOCTYPE html><title>List</title><ul>{items}</ul>{links}"}


def next_link(number: int, last: int = 10) -> str:
    return f'<a class="next" href="/list?page={number + 1}">more</a>' if number < last else ""


def list_task(site: Site, pagination: dict[str, Any]) -> dict[str, Any]:
    return {
        "entry_urls": [site.url("/list?page=1")],
        "selectors": {"items": "li.item", "fields": {"name": "b"}},
        "pagination": pagination,
    }


LINKS = {"type": "next_link", "selector": "a.next"}
OPEN = {"type": "page_param", "param": "page", "start": 2}
BOUNDED = {"type": "page_param", "param": "page", "start": 2, "stop": 14}


@contextmanager
def shop(workshop: Workshop, **more: Any) -> Iterator[Site]:
    """A list of ten things; two of them are there."""
    things = [f"/thing/{number}" for number in range(10)]
    routes = {"/": [html("Home", things)], **{path: [html(path)] for path in things[:2]}, **more}
    with written_site(workshop.folder.parent, routes=routes) as site:
        yield site


def things_task(site: Site) -> dict[str, Any]:
    return {
        "entry_urls": [site.url("/")],
        "follow": [{"selector": "a.child", "to": "thing"}],
        "pages": {"thing": {"selectors": {"fields": {"name": "h1", "price": ".price"}}}},
    }


@pytest.mark.parametrize("way", WAYS)
def test_things_that_are_redirected_elsewhere_are_named(workshop: Workshop, way: str) -> None:
    target = {WAYS[0]: "/", WAYS[1]: "/gone", WAYS[2]: "/account/login?next=x"}[way]
    gone = {f"/thing/{number}": [moved(target)] for number in range(2, 10)}
    with shop(workshop, **gone, **{"/gone": [html("Gone")], "/account/login?next=x": [LOGIN]}) as site:
        finished = crawl(workshop, things_task(site)).expect(7)
        rows = [row["name"] for row in workshop.rows() if row["name"] != "Gone"]
        assert sorted(rows) == ["/thing/0", "/thing/1"]
        summary = finished.json
        code = "signed_out" if way == WAYS[2] else "known_page"
        assert {page["cause"] for page in summary["lost_next_pages"]} == {code}
        assert summary["lost_count"] == {WAYS[1]: 6}.get(way, 8)
        assert summary["lost_count"] == summary["lost_next_page_count"] == summary["failed"]
        assert target.partition("?")[0] in finished.err
        why = workshop.why(summary["lost_next_pages"][0]["url"])
        assert target in why["record"]["reason"]


def test_another_name_of_a_page_that_is_there_is_no_loss(workshop: Workshop) -> None:
    names = {f"/thing/{number}": [moved(f"/thing/{number % 2}")] for number in range(2, 4)}
    rest = {f"/thing/{number}": [html(f"/thing/{number}")] for number in range(4, 10)}
    with shop(workshop, **names, **rest) as site:
        assert crawl(workshop, things_task(site)).expect(0).json["lost_next_pages"] == []
        assert len(workshop.rows()) == 8


@pytest.mark.parametrize("pagination", [LINKS, OPEN, BOUNDED], ids=["links", "open", "bounded"])
def test_a_page_of_a_list_without_items_is_fetched_again(
    workshop: Workshop, pagination: dict[str, Any]
) -> None:
    routes = {f"/list?page={number}": [shown(number, next_link(number))] for number in range(1, 11)}
    routes["/list?page=3"].insert(0, BUSY)
    routes |= {f"/list?page={number}": [BUSY] for number in range(11, 15)}
    with written_site(workshop.folder.parent, routes=routes) as site:
        summary = crawl(workshop, list_task(site, pagination)).expect(0).json
        assert (summary["items"], summary["lost_next_pages"]) == (50, [])
        assert site.paths().count("/list?page=3") == 2
        assert site.paths().count("/list?page=11") == (0 if pagination is LINKS else 2)


def test_a_list_that_breaks_off_is_named(workshop: Workshop) -> None:
    routes = {f"/list?page={number}": [shown(number, next_link(number))] for number in range(1, 11)}
    routes["/list?page=6"] = [BUSY]
    with written_site(workshop.folder.parent, routes=routes) as site:
        finished = crawl(workshop, list_task(site, LINKS)).expect(7)
        (lost,) = finished.json["lost_next_pages"]
        assert lost == {
            "url": site.url("/list?page=6"),
            "state": "dead",
            "reason": "no items on a next page, tried twice",
            "cause": "no_items",
        }
        assert f"lost: {lost['url']}" in finished.err
        assert finished.json["items"] == 25


@pytest.mark.parametrize("pagination", [LINKS, BOUNDED], ids=["links", "bounded"])
def test_a_page_without_items_in_the_middle_of_a_list_is_named(
    workshop: Workshop, pagination: dict[str, Any]
) -> None:
    routes = {f"/list?page={number}": [shown(number, next_link(number))] for number in range(1, 11)}
    routes["/list?page=6"] = [{"body": f"{BUSY['body']}{next_link(6)}"}]
    routes |= {f"/list?page={number}": [BUSY] for number in range(11, 15)}
    with written_site(workshop.folder.parent, routes=routes) as site:
        summary = crawl(workshop, list_task(site, pagination)).expect(7).json
        assert summary["items"] == 45
        (lost,) = summary["lost_next_pages"]
        assert (lost["url"], lost["cause"]) == (site.url("/list?page=6"), "no_items")


@pytest.mark.parametrize("status", [202, 204, 200])
@pytest.mark.parametrize("times", [2, None], ids=["twice", "always"])
def test_an_answer_without_content_is_no_row(workshop: Workshop, status: int, times: int | None) -> None:
    empty = {"status": status, "body": "" if status != 202 else "<h1>wait</h1>"}
    things = {f"/thing/{number}": [html(f"/thing/{number}")] for number in range(10)}
    for number in range(5):
        path = f"/thing/{number}"
        things[path] = [empty] if times is None else [*times * [empty], *things[path]]
    with shop(workshop, **things) as site:
        finished = crawl(workshop, things_task(site))
        if times is None:
            assert finished.expect(7).json["failed"] == 5
            assert len(workshop.rows()) == 5
            assert f"empty_answer: http {status}" in finished.err
        else:
            assert finished.expect(0).json["items"] == 10


def test_a_list_of_an_api_may_end_without_content(workshop: Workshop) -> None:
    routes: dict[str, Any] = {f"/list?page={number}": [shown(number)] for number in range(1, 4)}
    routes["/list?page=4"] = [{"status": 204, "body": ""}]
    with written_site(workshop.folder.parent, routes=routes) as site:
        summary = crawl(workshop, list_task(site, OPEN)).expect(0).json
        assert (summary["items"], summary["failed"]) == (15, 0)


def test_rules_that_find_nothing_at_all_are_no_success(workshop: Workshop) -> None:
    with shop(workshop, **{f"/thing/{number}": [html("x")] for number in range(2, 10)}) as site:
        task = things_task(site)
        task["pages"]["thing"]["selectors"] = {"items": ".card", "fields": {"name": "h2"}}
        finished = crawl(workshop, task).expect(7)
        (unmatched,) = finished.json["unmatched"]
        assert (unmatched["page"], unmatched["pages"]) == ("thing", 10)
        assert unmatched["example"] in finished.err


def test_pages_that_bring_less_than_others_are_noted(workshop: Workshop) -> None:
    priced = {
        f"/thing/{number}": [html(f"thing {number}", extra='<p class="price">1</p>')] for number in range(9)
    }
    with shop(workshop, **priced, **{"/thing/9": [html("thing 9")]}) as site:
        finished = crawl(workshop, things_task(site)).expect(0)
        assert finished.json["gaps"] == [
            {"page": "thing", "field": "price", "count": 1, "of": 10, "example": site.url("/thing/9")}
        ]
        assert "note: no 'price' on 1 of 10 pages of type 'thing'" in finished.err


@pytest.mark.parametrize("refusal", ["redirect", "words"])
def test_a_session_that_the_site_ends_is_said(workshop: Workshop, refusal: str) -> None:
    with site_process("smartspider_testing.sites.members", "--ends-at", "6", "--refusal", refusal) as url:
        site = Site(url)
        paced = {"robots": "ignore", "delay_s": 0, "per_host": 1}
        finished = crawl(workshop, members_task(site.base, politeness=paced, name="lost"))
        lost = {page["url"]: page for page in finished.expect(7).json["lost_next_pages"]}
        page = lost[site.url("/list/6")]
        assert page["cause"] == ("signed_out" if refusal == "redirect" else "no_items")
        assert page["reason"] in workshop.run("why", page["url"]).expect(0).out
