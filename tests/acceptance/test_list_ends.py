"""A list ends where it repeats, and session ids make no request another one."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from tests.acceptance.workshop import Finished, Site, Workshop, html, written_site

from smartspider.demo.process import site_process
from smartspider_testing.sites.endless import KINDS, PAGES, PER_PAGE

pytestmark = pytest.mark.acceptance

FAST = {"robots": "ignore", "delay_s": 0, "adaptive": False}
NAMES = {f"entry {number}" for number in range(1, PAGES * PER_PAGE + 1)}
REPEATING = ("last", "first", "clock")
LINKS = {"type": "next_link", "selector": "a.next"}
ENTRIES = {"items": "ul li", "fields": {"name": "a", "page": {"type": "meta", "expr": "url"}}}


def crawl(workshop: Workshop, task: dict[str, Any]) -> Finished:
    workshop.write({"name": "ends", "politeness": FAST, "limits": {"max_pages": 300}, **task})
    return workshop.run("crawl", "task.json", "-o", "rows.jsonl", "--json")


def served(site: Site) -> list[str]:
    with urllib.request.urlopen(site.url("/_stats"), timeout=30) as answer:
        found: list[str] = json.load(answer)
    return found


def names(workshop: Workshop) -> list[str]:
    return [row["name"] for row in workshop.rows()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_without_an_end_ends(workshop: Workshop, kind: str) -> None:
    with site_process("smartspider_testing.sites.endless", "--list", kind) as url:
        site = Site(url)
        task = {"entry_urls": [site.url("/list")], "selectors": ENTRIES, "pagination": LINKS}
        finished = crawl(workshop, task).expect(0)
        assert len(served(site)) <= 2 * PAGES
        found = names(workshop)
        assert set(found) == NAMES
        assert len(found) == len(NAMES)
        assert (finished.json["state"], finished.json["lost_count"]) == ("completed", 0)
        if kind in REPEATING:
            (ended,) = finished.json["left_out"]
            assert (ended["reason"], ended["is_next_page"], ended["count"]) == ("repeated", True, 1)
            assert finished.json["duplicates"] == PER_PAGE
            first = next(path for path in served(site) if ("page=5" in path) == (kind != "first"))
            said = f"repeated: the page has the items of {site.url(first)}, so the list ends here"
            assert said in finished.err
            assert said in workshop.run("why", ended["example"]["url"]).expect(0).out


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_whose_entries_are_followed_ends(workshop: Workshop, kind: str) -> None:
    with site_process("smartspider_testing.sites.endless", "--list", kind) as url:
        site = Site(url)
        task = {
            "entry_urls": [site.url("/list")],
            "pagination": LINKS,
            "follow": [{"selector": "a.entry", "to": "entry"}],
            "pages": {
                "entry": {
                    "selectors": {"fields": {"name": "h1"}},
                    "follow": [{"selector": "a.start", "to": "default"}],
                }
            },
        }
        crawl(workshop, task).expect(0)
        assert len(served(site)) <= 2 * (PAGES + len(NAMES))
        found = names(workshop)
        assert set(found) == NAMES
        assert len(found) == len(NAMES)


def shown(names: list[str], link: str = "") -> dict[str, Any]:
    items = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in names)
    more = f'<a class="next" href="{link}">more</a>' if link else ""
    return {"body": f"<!DOCTYPE html><title>List</title><ul>{items}</ul>{more}"}


def test_two_lists_with_an_equal_page_are_both_whole(workshop: Workshop) -> None:
    same = [f"shared entry {number}" for number in range(8)]
    routes = {}
    for one in "ab":
        routes[f"/{one}"] = [shown([f"{one} first {number}" for number in range(8)], f"/{one}?p=2")]
        routes[f"/{one}?p=2"] = [shown(same, f"/{one}?p=3")]
        routes[f"/{one}?p=3"] = [shown([f"{one} last {number}" for number in range(8)])]
    with written_site(workshop.folder.parent, routes=routes) as site:
        entries = [site.url("/a"), site.url("/b")]
        task = {"entry_urls": entries, "selectors": ENTRIES, "pagination": LINKS}
        summary = crawl(workshop, task).expect(0).json
        assert (summary["items"], summary["duplicates"], summary["left_out"]) == (48, 0, [])


def test_known_pages_that_repeat_another_give_no_rows(workshop: Workshop) -> None:
    """Pages of a list with a known end are found at once: what repeats is dropped, the rest is whole."""
    routes: dict[str, Any] = {}
    for number in range(1, 11):
        routes[f"/list?page={number}"] = [shown([f"entry {min(number, 6)}.{one}" for one in range(8)])]
    with written_site(workshop.folder.parent, routes=routes) as site:
        task = {
            "entry_urls": [site.url("/list?page=1")],
            "selectors": ENTRIES,
            "pagination": {"type": "page_param", "param": "page", "start": 2, "stop": 10},
        }
        summary = crawl(workshop, task).expect(0).json
        assert (summary["pages"], summary["items"], summary["duplicates"]) == (10, 48, 32)


def test_a_parameter_that_tells_pages_apart_is_no_session_id(workshop: Workshop) -> None:
    """The links of one answer have one session id: what differs between them is something else."""
    songs = [f"/song?sid={number:02d}f3a9c1e7b5d2460" for number in range(10)]
    routes = {"/": [html("Home", songs)], **{song: [html(song)] for song in songs}}
    with written_site(workshop.folder.parent, routes=routes) as site:
        song = {"selectors": {"fields": {"name": "h1"}}}
        task = {
            "entry_urls": [site.url("/")],
            "follow": [{"selector": "a.child", "to": "song"}],
            "pages": {"song": song},
        }
        crawl(workshop, task).expect(0)
        assert sorted(names(workshop)) == songs
        assert workshop.why(site.url(songs[3]))["record"]["state"] == "done"
        crawl(workshop, {**song, "name": "own", "entry_urls": [site.url(one) for one in songs]})
        assert sorted(names(workshop)) == songs


def test_session_ids_can_be_kept(workshop: Workshop) -> None:
    paths = [f"/page;jsessionid={number}" for number in range(3)]
    with written_site(workshop.folder.parent, routes={path: [html(path)] for path in paths}) as site:
        entries = [site.url(path) for path in paths]
        task = {"entry_urls": entries, "selectors": {"fields": {"name": "h1"}}}
        assert crawl(workshop, task).expect(0).json["items"] == 1
        assert crawl(workshop, {**task, "dedup": {"drop_session_ids": False}}).expect(0).json["items"] == 3
