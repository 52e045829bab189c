"""Politeness, measured at the server: nothing that the crawler believes about itself counts here."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.workshop import Workshop, html, title_task, until, written_site

from smartspider_testing.sites.http_server import ReceivedRequest
from smartspider_testing.sites.scripted import gaps_of, peak_of
from smartspider_testing.waiting import scaled

pytestmark = [pytest.mark.acceptance, pytest.mark.timed]

DELAY_S = 0.2
FLOOR_S = 0.180
PAGES = 38
"""Per run: ordinary pages; every tenth fails once, every ninth is a redirect on its host."""
ROBOTS = "User-agent: *\nDisallow: /secret\n"


def shop_routes(shelf: str) -> dict[str, list[dict[str, Any]]]:
    """Return a list of pages: some fail once, some redirect, one is disallowed."""
    paths = [f"/{shelf}/{number}" for number in range(PAGES)]
    routes = {path: [html(path)] for path in paths}
    for path in paths[::10]:
        routes[path] = [{"status": 502}, html(path)]
    for number, path in enumerate(paths[4::9]):
        routes[path] = [{"status": 302, "headers": {"Location": f"/{shelf}/new/{number}"}}]
        routes[f"/{shelf}/new/{number}"] = [html(path)]
    routes[f"/{shelf}"] = [html(shelf, [*paths, f"/secret/{shelf}"])]
    return routes


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def shares(log: list[ReceivedRequest]) -> dict[str, int]:
    """Requests of each run while both had work: between the later start and the earlier end."""
    moments = {
        shelf: [arrival.arrived_at for arrival in log if arrival.path.startswith(f"/{shelf}")]
        for shelf in ("red", "blue")
    }
    first = max(times[0] for times in moments.values())
    last = min(times[-1] for times in moments.values())
    return {shelf: sum(first <= at <= last for at in times) for shelf, times in moments.items()}


@pytest.mark.alone
@pytest.mark.timeout(180)
def test_two_runs_with_two_workers_each_keep_the_delay_through_kills_and_stops(
    workshop: Workshop, figures: Figures
) -> None:
    routes = shop_routes("red") | shop_routes("blue") | {"/robots.txt": [{"body": ROBOTS}]}
    with written_site(workshop.folder, routes=routes) as site:
        crawls = {}
        for shelf in ("red", "blue"):
            polite = {"delay_s": DELAY_S, "per_host": 4, "adaptive": False}
            retry = {"backoff_s": 0.3}
            task = title_task(site.url(f"/{shelf}"), name=shelf, politeness=polite, retry=retry)
            workshop.write(task, f"{shelf}.json")
            crawls[shelf] = workshop.start(
                *("crawl", f"{shelf}.json", "--data", "both", "--workers", "2", "--json"),
                *("-o", f"{shelf}.jsonl"),
            )
        for turn in range(4):
            until(lambda wanted=15 + 15 * turn: len(site.log()) >= wanted, "requests")  # type: ignore[misc] # bound now
            for crawl in crawls.values():
                until(lambda crawl=crawl: crawl.has_ended() or len(crawl.workers()) == 2, "two workers")  # type: ignore[misc] # bound now
            killed, stopped = (crawls["red"], crawls["blue"])[:: 1 if turn % 2 else -1]
            os.kill(killed.workers()[0], signal.SIGKILL)
            pid = stopped.workers()[1]
            os.kill(pid, signal.SIGSTOP)
            time.sleep(1.0 + 0.3 * turn)  # the stop itself is the fault under test
            os.kill(pid, signal.SIGCONT)
        for shelf, crawl in crawls.items():
            assert crawl.wait(scaled(90)).expect(0).json["pages"] == PAGES + 1
            wanted = {shelf, *(f"/{shelf}/{number}" for number in range(PAGES))}
            titles = [row["title"] for row in workshop.rows(f"{shelf}.jsonl")]
            assert sorted(titles) == sorted(wanted)
        log = site.log()
        gaps, portions = gaps_of(log), shares(log)
        figures(
            f"{len(log)} requests, smallest gap {min(gaps) * 1000:.1f} ms, 1st percentile"
            f" {percentile(gaps, 0.01) * 1000:.1f} ms, median {percentile(gaps, 0.5) * 1000:.1f} ms"
            f" at {DELAY_S * 1000:.0f} ms; shares {portions}"
        )
        assert min(gaps) >= FLOOR_S
        assert min(portions.values()) >= 0.4 * sum(portions.values())
        assert not any(arrival.path.startswith("/secret") for arrival in log)
        assert 1 <= [arrival.path for arrival in log].count("/robots.txt") <= 4
        for number in ("1", "2"):
            receipt = workshop.run("run", "show", number, "--data", "both", "--json").json["receipt"][0]
            assert receipt["violations"] == 0


def test_a_run_with_many_workers_leaves_a_run_with_one_its_share(
    workshop: Workshop, figures: Figures
) -> None:
    routes = shop_routes("red") | shop_routes("blue")
    with written_site(workshop.folder, routes=routes) as site:
        crawls = []
        for shelf, workers in (("red", "3"), ("blue", "1")):
            polite = {"delay_s": 0.06, "robots": "ignore", "adaptive": False}
            workshop.write(title_task(site.url(f"/{shelf}"), name=shelf, politeness=polite), f"{shelf}.json")
            arguments = (f"{shelf}.json", "--data", "both", "--json", "--workers", workers)
            crawls.append(workshop.start("crawl", *arguments))
        assert [crawl.wait().expect(0).json["pages"] for crawl in crawls] == [PAGES + 1, PAGES + 1]
        portions = shares(site.log())
        figures(f"three workers against one: {portions}")
        assert min(portions.values()) >= 0.4 * sum(portions.values())


@pytest.mark.parametrize("how", ["seconds", "date"])
def test_retry_after_is_waited_out_by_everybody(workshop: Workshop, figures: Figures, how: str) -> None:
    asked_s = 2.0
    pages = [f"/p/{number}" for number in range(20)]
    mercy = (
        {"hostile": "too_many", "options": {"retry_after": asked_s, "status": 503}}
        if how == "seconds"
        else {"hostile": "too_many_until", "options": {"seconds": asked_s}}
    )
    routes: dict[str, list[dict[str, Any]]] = {"/": [html("/", pages)]}
    routes |= {path: [html(path)] for path in pages}
    routes["/p/7"] = [mercy, html("/p/7")]
    with written_site(workshop.folder, routes=routes) as site:
        # One request at a time, so that none is on its way when the answer comes.
        polite = {"delay_s": 0, "robots": "ignore", "per_host": 1, "adaptive": False}
        workshop.write(title_task(site.url("/"), politeness=polite))
        assert workshop.crawl("--workers", "2").expect(0).json["pages"] == 21
        log = site.log()
        assert len(log) == 22
        asked = next(arrival for arrival in log if arrival.path == "/p/7")
        after = min(arrival.arrived_at for arrival in log if arrival.arrived_at > asked.arrived_at)
        assert asked.answered_at is not None
        figures(f"asked for {asked_s:g} s ({how}), next request after {after - asked.answered_at:.3f} s")
        assert after - asked.answered_at >= asked_s - 0.001


def test_no_more_requests_than_per_host_are_in_flight(workshop: Workshop, figures: Figures) -> None:
    pages = [f"/p/{number}" for number in range(40)]
    routes = {"/": [html("/", pages)]} | {path: [html(path) | {"delay_s": 0.1}] for path in pages}
    with written_site(workshop.folder, routes=routes) as site:
        polite = {"delay_s": 0, "robots": "ignore", "per_host": 3}
        for name in ("one", "two"):
            workshop.write(title_task(site.url("/"), name=name, politeness=polite), f"{name}.json")
        both = [
            workshop.start("crawl", f"{name}.json", "--data", "both", "--json", "--workers", "2")
            for name in ("one", "two")
        ]
        assert [crawl.wait().expect(0).json["pages"] for crawl in both] == [41, 41]
        peak = peak_of(site.log())
        figures(f"peak in flight {peak} of 3 allowed, two runs with two workers each")
        assert peak == 3


def test_a_crawl_delay_in_robots_txt_is_kept(workshop: Workshop, figures: Figures) -> None:
    pages = [f"/p/{number}" for number in range(6)]
    robots = {"body": "User-agent: SmartSpider\nCrawl-delay: 0.4\nDisallow: /p/3\n"}
    routes = {"/": [html("/", pages)], "/robots.txt": [robots]} | {path: [html(path)] for path in pages}
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/"), politeness={"delay_s": 0}))
        assert workshop.crawl().expect(0).json["pages"] == 6
        paths, gaps = site.paths(), gaps_of(site.log())
        assert paths[:2] == ["/robots.txt", "/"]
        assert "/p/3" not in paths
        # The file must be read before it can be kept: only what follows its first page is spaced.
        figures(f"smallest gap {min(gaps[1:]) * 1000:.1f} ms at a Crawl-delay of 400 ms")
        assert min(gaps[1:]) >= 0.36


@pytest.mark.parametrize("status", [404, 500])
def test_robots_txt_that_is_missing_allows_and_one_that_fails_forbids(
    workshop: Workshop, status: int
) -> None:
    with written_site(
        workshop.folder, routes={"/": [html("/")], "/robots.txt": [{"status": status}]}
    ) as site:
        workshop.write(title_task(site.url("/"), politeness={"delay_s": 0}, retry={"max_attempts": 1}))
        if status == 404:
            assert workshop.crawl().expect(0).json["pages"] == 1
        else:
            assert "robots_unavailable" in workshop.crawl().expect(6).json["reason"]
            assert set(site.paths()) == {"/robots.txt"}


def test_ignoring_robots_is_said_aloud(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes={"/": [html("/")]}) as site:
        workshop.write(title_task(site.url("/")))
        finished = workshop.crawl().expect(0)
        assert "note: robots.txt is ignored" in finished.err
        assert "robots.txt ignored" in finished.err
        assert site.paths() == ["/"]
