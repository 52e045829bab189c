"""Crawling a site again: windows, unchanged pages, what changed since."""

from __future__ import annotations

import json
import signal
import time
from typing import Any

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.workshop import Site, Workshop, html, title_task, until, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(180)]

MOMENT = "Sat, 14 Nov 2026 08:00:00 GMT"
CONDITIONAL = {"recrawl": {"conditional": True}}


def versioned(title: str, *links: str, tag: str = "1", **more: Any) -> dict[str, Any]:
    """A page with an ETag."""
    return {**html(title, list(links)), "etag": f'"{tag}"', **more}


def once(*answers: dict[str, Any]) -> list[dict[str, Any]]:
    return list(answers)


def titles(workshop: Workshop, name: str = "rows.jsonl") -> list[str]:
    return sorted(row["title"] for row in workshop.rows(name))


def asked(site: Site, since: int = 0) -> dict[str, str | None]:
    """The pages asked for since then, each with the version it was asked about."""
    return {arrival.path: arrival.headers.get("if-none-match") for arrival in site.log()[since:]}


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_pages_within_the_window_are_left_alone_and_say_so(workshop: Workshop) -> None:
    routes = {
        "/": once(html("/", ["/a", "/b"], '<a class="next" href="/2">next</a>')),
        "/2": once(html("2", ["/c"])),
        "/a": once(html("a")),
        "/b": once({"status": 404}),
        "/c": once(html("c"), html("never fetched")),
    }
    with written_site(workshop.folder, routes=routes) as site:
        pagination = {"type": "next_link", "selector": "a.next"}
        workshop.write(title_task(site.url("/"), pagination=pagination, dedup={"window": "7d"}))
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert titles(workshop) == ["/", "2", "a", "c"]
        since = len(site.log())
        summary = workshop.crawl("-o", "again.jsonl").expect(0).json
        assert (summary["state"], summary["pages"], summary["items"]) == ("completed", 2, 2)
        assert sorted(asked(site, since)) == ["/", "/2"]
        explained = workshop.why(site.url("/c"))
        assert explained["verdict"] == "not fetched: window: fetched less than a minute ago in run 1"
        assert workshop.why(site.url("/b"))["record"]["state"] == "skipped"
        since = len(site.log())
        over_at = time.monotonic() + 1
        until(lambda: time.monotonic() > over_at, "the end of a window of a second")
        workshop.crawl("--set", 'dedup.window="1s"').expect(0)
        assert sorted(asked(site, since)) == ["/", "/2", "/a", "/b", "/c"]


def test_a_list_is_read_to_its_end_although_its_pages_are_also_linked_by_number(workshop: Workshop) -> None:
    """A further page that a plain link found first, and that was left alone as such, is fetched after all."""

    def page(number: int, new: str) -> dict[str, Any]:
        following = f'<a class="next" href="/{number + 1}">next</a>' if number < 4 else ""
        return html(str(number), ["/1", "/2", "/3", "/4", new], following)

    routes = {
        f"/{number}": once(page(number, f"/old{number}"), page(number, f"/new{number}"))
        for number in range(1, 5)
    }
    with written_site(workshop.folder, routes=routes, prefixes={"/": html("detail")}) as site:
        pagination = {"type": "next_link", "selector": "a.next"}
        workshop.write(title_task(site.url("/1"), pagination=pagination, dedup={"window": "7d"}))
        workshop.crawl().expect(0)
        since = len(site.log())
        summary = workshop.crawl().expect(0).json
        lists, details = [f"/{number}" for number in range(1, 5)], [f"/new{number}" for number in range(1, 5)]
        assert sorted(path for path in site.paths()[since:]) == sorted(lists + details)
        assert (summary["pages"], summary["state"]) == (8, "completed")
        assert workshop.run("fsck", "--json").expect(0).json == []


def test_a_page_that_seldom_changes_is_not_due(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes={"/": once(html("/", ["/a"])), "/a": once(html("a"))}) as site:
        workshop.write(title_task(site.url("/"), recrawl={"adaptive": True}))
        workshop.crawl().expect(0)
        workshop.crawl().expect(0)
        assert site.paths() == ["/", "/a", "/"]
        verdict = workshop.why(site.url("/a"))["verdict"]
        assert verdict.startswith("not fetched: recrawl: not due until ")


def test_an_unchanged_page_costs_little_and_gives_everything_again(workshop: Workshop) -> None:
    """What only unchanged pages lead to is reached, as deep as it goes."""
    routes = {
        "/": once(versioned("/", "/a", "/b")),
        "/a": once({**html("a", ["/deep", "/"]), "last_modified": MOMENT}),
        "/b": once(html("b", ["/a"]), html("b, now", ["/a"])),
        "/deep": once(versioned("deep", "/deeper")),
        "/deeper": once(html("deeper"), html("deeper, now")),
    }
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), **CONDITIONAL))
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert set(asked(site).values()) == {None}
        since = len(site.log())
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        assert (summary["pages"], summary["items"], summary["failed"]) == (5, 5, 0)
        assert titles(workshop) == ["/", "a", "b, now", "deep", "deeper, now"]
        assert asked(site, since) == {"/": '"1"', "/a": None, "/b": None, "/deep": '"1"', "/deeper": None}
        (a,) = [arrival for arrival in site.log()[since:] if arrival.path == "/a"]
        assert a.headers["if-modified-since"] == MOMENT
        assert workshop.why(site.url("/deep"))["verdict"] == "fetched and stored, status 304, 1 item"
        since = len(site.log())
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert titles(workshop) == ["/", "a", "b, now", "deep", "deeper, now"]
        assert asked(site, since)["/deep"] == '"1"'


def test_a_link_that_one_page_dropped_is_still_found_on_an_unchanged_one(workshop: Workshop) -> None:
    """Both pages led to it; the one that was read first had it, the other only knew that it was known."""
    routes = {
        "/": once(versioned("/", "/first", "/second")),
        "/first": once(versioned("first", "/x"), versioned("first, now", tag="2")),
        "/second": once(versioned("second", "/x", delay_s=0.3)),
        "/x": once(versioned("x")),
    }
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), **CONDITIONAL))
        workshop.crawl("-o", "rows.jsonl").expect(0)
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert titles(workshop) == ["/", "first, now", "second", "x"]


def test_a_changed_page_is_read_and_what_it_no_longer_leads_to_is_gone(workshop: Workshop) -> None:
    routes = {
        "/": once(versioned("/", "/a", "/b"), versioned("/", "/b", tag="2")),
        "/a": once(versioned("a")),
        "/b": once(versioned("b"), versioned("b, now", tag="2")),
    }
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), **CONDITIONAL))
        workshop.crawl("-o", "rows.jsonl").expect(0)
        workshop.crawl("-o", "rows.jsonl", "--only-changes").expect(0)
        assert titles(workshop) == ["b, now"]
        found = lines(workshop.run("results", "diff", "--json").expect(0).out)
        assert [(one["kind"], one["row"]["title"]) for one in found[:-1]] == [
            ("changed", "b, now"),
            ("gone", "a"),
        ]
        assert found[0]["edits"] == [{"field": "title", "before": "b", "after": "b, now"}]
        counts = {"new": 0, "changed": 1, "gone": 1, "unchanged": 1, "unseen": 0}
        assert found[-1] == {"summary": {"before": "1", "after": "2", "key": "page URL", **counts}}


def test_a_redirect_is_not_asked_with_the_version_of_the_page_it_took_the_place_of(
    workshop: Workshop,
) -> None:
    moved = {"status": 302, "headers": {"Location": "/new"}}
    routes = {
        "/": once(versioned("/", "/a")),
        "/a": once(versioned("a"), moved),
        "/new": once(versioned("new")),
    }
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), **CONDITIONAL))
        workshop.crawl("-o", "rows.jsonl").expect(0)
        since = len(site.log())
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert titles(workshop) == ["/", "new"]
        assert asked(site, since) == {"/": '"1"', "/a": '"1"', "/new": None}


def test_an_edited_task_and_a_deleted_run_ask_for_whole_pages(workshop: Workshop) -> None:
    routes = {"/": once(versioned("/", "/a")), "/a": once(versioned("a"))}
    with written_site(workshop.folder, routes=routes) as site:
        task = title_task(site.url("/"), **CONDITIONAL)
        workshop.write(task)
        workshop.crawl().expect(0)
        task["selectors"]["fields"]["kind"] = {"type": "const", "expr": "page"}
        workshop.write(task)
        since = len(site.log())
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert asked(site, since) == {"/": None, "/a": None}
        assert [row["kind"] for row in workshop.rows()] == ["page", "page"]
        workshop.run("run", "delete", 2).expect(0)
        since = len(site.log())
        workshop.crawl("-o", "rows.jsonl").expect(0)
        assert asked(site, since) == {"/": None, "/a": None}
        assert titles(workshop) == ["/", "a"]


def test_the_difference_of_two_runs_is_readable(workshop: Workshop) -> None:
    def listing(*rows: tuple[str, str]) -> dict[str, Any]:
        return {"body": "".join(f"<li><b>{sku}</b><i>{price}</i></li>" for sku, price in rows)}

    first = listing(("a", "1"), ("b", "2"), ("c", "3"))
    second = listing(("b", "2"), ("c", "4"), ("d", "5"))
    with written_site(workshop.folder, routes={"/": once(first, second)}) as site:
        task = title_task(site.url("/"), dedup={"items": ["sku"]})
        task["selectors"] = {"items": "li", "fields": {"sku": "b", "price": "i"}}
        workshop.write(task)
        workshop.crawl().expect(0)
        missing = workshop.run("results", "diff").expect(3)
        assert "there is no completed run of 'titles' before run 1" in missing.err
        workshop.crawl().expect(0)
        *listed, summary = workshop.run("results", "diff", "--key", "sku").expect(0).out.splitlines()
        assert listed == ["~ sku: c  price: 3 → 4", "+ sku: d  price: 5", "- sku: a  price: 1"]
        assert summary == "run 1 → run 2, rows matched by sku: 1 new, 1 changed, 1 gone, 1 unchanged"
        back = workshop.run("results", "diff", 2, 1, "--limit", 1).expect(0)
        assert back.out.splitlines()[0].startswith("+ ")
        assert "and 2 more" in back.err
        workshop.run("results", "diff", "--key", "nope").expect(2)
        workshop.run("results", "diff", 1, 9).expect(3)
        workshop.run("results", "export", "-o", "changes.csv", "--only-changes").expect(0)
        assert (workshop.folder / "changes.csv").read_text() == "sku,price\nc,4\nd,5\n"
        workshop.run("results", "export", "-o", "all.csv", "--only-changes", "--run", 1).expect(0)
        assert (workshop.folder / "all.csv").read_text() == "sku,price\na,1\nb,2\nc,3\n"


def kill_after(workshop: Workshop, site: Site, requests: int) -> None:
    """Crawl until so many requests have arrived, and kill."""
    crawl = workshop.start("crawl", "task.json", "-o", "rows.jsonl")
    until(lambda: crawl.has_ended() or len(site.log()) >= requests, f"{requests} requests")
    assert crawl.kill().code == -signal.SIGKILL


def test_kill_nine_among_unchanged_pages_loses_and_doubles_nothing(
    workshop: Workshop, figures: Figures
) -> None:
    pages = 400
    routes = {
        f"/{number}": once(
            versioned(
                str(number),
                *(f"/{child}" for child in range(2 * number, 2 * number + 2) if child < pages),
                delay_s=0.01,
            )
        )
        for number in range(1, pages)
    }
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/1"), **CONDITIONAL))
        workshop.crawl("-o", "first.jsonl").expect(0)
        before = len(site.log())
        assert before == pages - 1
        kills = 5
        for number in range(1, kills + 1):
            kill_after(workshop, site, before + number * 60)
        summary = workshop.crawl("-o", "rows.jsonl").expect(0).json
        assert (summary["run_id"], summary["state"], summary["items"]) == ("2", "completed", pages - 1)
        assert titles(workshop) == titles(workshop, "first.jsonl")
        arrivals = site.log()[before:]
        whole = [arrival.path for arrival in arrivals if "if-none-match" not in arrival.headers]
        assert whole == []
        figures(f"{kills} kills, {pages - 1} pages, {len(arrivals) - pages + 1} asked for again")
        assert workshop.run("fsck", "--json").expect(0).json == []
