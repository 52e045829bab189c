"""A crawl that began on a laptop and ends on a cluster, killed wherever it hurts."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping

import pytest
from tests.acceptance.workshop import Workshop, children_of, graph_site, is_running, until

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

PAGES = 150
EARLY = 30
"""Pages before the move."""


def kill_all(workshop: Workshop, *arguments: object, when: Callable[[], bool]) -> None:
    """Start a command, and end it and its workers by SIGKILL when it is time."""
    command = workshop.start(*arguments)
    until(lambda: when() or command.has_ended(), "the moment to kill it")
    assert not command.has_ended(), command.err
    family = children_of(command.pid)
    command.kill()
    for pid in family:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(is_running, family)), "the end of its workers")


def test_a_killed_crawl_is_moved_and_finished_on_a_cluster(
    workshop: Workshop, cluster: Mapping[str, str]
) -> None:
    move = ("move", "--data", "data", "--json")
    where = ("--store", cluster["SMARTSPIDER_STORE_URL"], "--to", cluster["SMARTSPIDER_FRONTIER_URL"])
    with graph_site(PAGES, delay_ms=20.0) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = ("crawl", "task.json", "--data", "data")
        kill_all(workshop, *crawl, when=lambda: site.fetches() >= EARLY)

        for place in ("move.piece:3", "move.closed"):
            assert workshop.run(*move, *where, env={"SMARTSPIDER_DIE_AT": place}).code == -signal.SIGKILL
            assert "the data folder data" in workshop.run(*crawl).expect(4).err
        fetched = site.fetches()
        moved = workshop.run(*move, env=cluster).expect(0).json  # where to is in the settings
        assert moved["is_done"]
        assert moved["open"] > 0
        assert "was moved to" in workshop.run("up", "--port", "0", "--data", "data").expect(4).err
        assert workshop.run("results", "show", "--data", "data", "--json").expect(0).out
        assert site.fetches() == fetched

        keeper = workshop.start("keeper", env=cluster)
        worker = workshop.start("worker", "--concurrency", "8", env=cluster)

        def state() -> str:
            shown = workshop.run("run", "list", "--json", env=cluster).expect(0).json
            return str(shown[0]["state"])

        until(lambda: state() == "completed", f"the end of the run\n{keeper.err}\n{worker.err}")
        stats = site.ask("/_stats")
    workshop.run("results", "export", "-o", "rows.jsonl", env=cluster).expect(0)
    assert ChangingGraph(PAGES, seed=1).problems(workshop.rows()) == []
    twice = [page for page, count in stats["pages"].items() if count > 1]
    assert len(twice) <= 2 * 16, "only what was in flight or unsettled when it was killed"
    workshop.run("audit", "verify", env=cluster).expect(0)
    for role in (worker, keeper):
        role.signal(signal.SIGTERM)
        assert role.wait().code == 0, role.err
