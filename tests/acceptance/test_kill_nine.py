"""kill -9 at any moment: no page lost, no row doubled, few pages fetched again."""

from __future__ import annotations

import os
import random
import signal

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.workshop import Command, Site, Workshop, graph_site, is_running, until

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = [pytest.mark.acceptance, pytest.mark.long, pytest.mark.timeout(280)]

IN_FLIGHT = 16
SETTLE_GROUP = 64


def kill_points(kills: int, pages: int, seed: int) -> list[int]:
    """Fetches after which to kill, spread over the crawl."""
    draw = random.Random(seed)
    return sorted(draw.randint(1, pages) for _ in range(kills))


def until_fetched(site: Site, count: int, command: Command) -> None:
    """Wait until so many pages were fetched in all, and at least one since the last look."""
    wanted = max(count, site.fetches() + 1)
    until(lambda: command.has_ended() or site.fetches() >= wanted, f"{wanted} fetches")
    assert not command.has_ended(), f"the crawl ended before it was killed\n{command.wait().err}"


def report(workshop: Workshop, site: Site, graph: ChangingGraph, kills: int, figures: Figures) -> None:
    """Nothing lost, nothing doubled, and not much fetched twice."""
    rows = workshop.rows()
    assert graph.problems(rows) == []
    pages = len({row["page"] for row in rows})
    extra = site.fetches() - pages
    figures(f"{kills} kills, {pages} pages, {len(rows)} rows, {extra} extra fetches ({extra / pages:.1%})")
    assert extra <= kills * (IN_FLIGHT + SETTLE_GROUP)
    assert workshop.run("fsck", "--json").expect(0).json == []


def kill_and_finish(workshop: Workshop, site: Site, points: list[int]) -> None:
    """The same command again and again, killed at each of the points, then left to finish."""
    command = ("crawl", "task.json", "-o", "rows.jsonl", "--json")
    for count in points:
        crawl = workshop.start(*command)
        until_fetched(site, count, crawl)
        assert crawl.kill().code == -signal.SIGKILL
        assert not (workshop.folder / "rows.jsonl").exists()
    summary = workshop.run(*command).expect(0).json
    assert (summary["state"], summary["items"]) == ("completed", len(workshop.rows()))


def test_kill_nine_twenty_times_loses_and_doubles_nothing(workshop: Workshop, figures: Figures) -> None:
    graph = ChangingGraph(3000, seed=11)
    with graph_site(3000, seed=11) as site:
        workshop.write(graph_task(f"{site.base}/"))
        kill_and_finish(workshop, site, kill_points(20, 2800, seed=1))
        report(workshop, site, graph, 20, figures)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(4))
def test_kill_nine_a_hundred_times_loses_and_doubles_nothing(
    workshop: Workshop, figures: Figures, seed: int
) -> None:
    graph = ChangingGraph(10_000, seed=seed)
    with graph_site(10_000, seed=seed) as site:
        workshop.write(graph_task(f"{site.base}/"))
        kill_and_finish(workshop, site, kill_points(100, 12_000, seed=seed))
        report(workshop, site, graph, 100, figures)


def test_a_worker_killed_again_and_again_is_replaced(workshop: Workshop, figures: Figures) -> None:
    graph = ChangingGraph(2000, seed=12)
    with graph_site(2000, seed=12, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = workshop.start("crawl", "task.json", "-o", "rows.jsonl", "--json", "--workers", "2")
        for turn, count in enumerate(kill_points(10, 2000, seed=2)):
            until(lambda: crawl.has_ended() or len(crawl.workers()) == 2, "two workers")
            until_fetched(site, count, crawl)
            os.kill(crawl.workers()[turn % 2], signal.SIGKILL)
        assert crawl.wait().expect(0).json["state"] == "completed"
        assert crawl.err.count("starting another one") == 10
        report(workshop, site, graph, 10, figures)


def test_workers_leave_when_the_crawl_that_started_them_is_killed(
    workshop: Workshop, figures: Figures
) -> None:
    graph = ChangingGraph(900, seed=13)
    seen: set[int] = set()
    with graph_site(900, seed=13, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        command = ("crawl", "task.json", "-o", "rows.jsonl", "--json", "--workers", "2")
        for count in kill_points(5, 900, seed=3):
            crawl = workshop.start(*command)
            until(lambda crawl=crawl: len(crawl.workers()) == 2, "two workers")  # type: ignore[misc] # bound now
            until_fetched(site, count, crawl)
            seen.update(crawl.workers())
            crawl.kill()
        assert workshop.run(*command).expect(0).json["state"] == "completed"
        until(lambda: not any(map(is_running, seen)), "the orphaned workers to leave")
        report(workshop, site, graph, 5, figures)
