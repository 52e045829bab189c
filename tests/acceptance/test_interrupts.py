"""Ctrl-C and SIGTERM: the run is paused, nothing is lost, and the same command goes on."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from tests.acceptance.workshop import (
    Command,
    Site,
    Workshop,
    graph_site,
    html,
    is_running,
    title_task,
    until,
    written_site,
)

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = pytest.mark.acceptance

COMMAND = ("crawl", "task.json", "-o", "rows.jsonl", "--json")


def started(workshop: Workshop, site: Site, fetches: int, *more: str) -> Command:
    """A crawl that has fetched so many pages."""
    crawl = workshop.start(*COMMAND, *more)
    until(lambda: crawl.has_ended() or site.fetches() >= fetches, f"{fetches} fetches")
    assert not crawl.has_ended(), crawl.err
    return crawl


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_run_is_paused_and_goes_on(
    workshop: Workshop, number: signal.Signals, workers: str
) -> None:
    graph = ChangingGraph(400, seed=21)
    with graph_site(400, seed=21, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = started(workshop, site, 150, "--workers", workers)
        crawl.signal(number)
        summary = crawl.wait().expect(130).json
        assert (summary["state"], summary["reason"], summary["outputs"]) == ("paused", "interrupted", [])
        assert not (workshop.folder / "rows.jsonl").exists()
        assert summary["pages"] == site.fetches(), "what was in flight was finished and stored"
        assert "run the same command again" in crawl.err
        resumed = workshop.run(*COMMAND).expect(0)
        assert f"resuming run 1: {summary['pages']} pages done" in resumed.err
        rows = workshop.rows()
        assert graph.problems(rows) == []
        assert resumed.json["items"] == len(rows) > summary["items"] > 0
        assert site.fetches() == resumed.json["pages"], "nothing was fetched twice"
        logs = workshop.folder / ".smartspider/changing_graph/logs"
        names = {path.name for path in logs.iterdir()}
        assert names <= {"run-1.jsonl", "run-1-worker-0.jsonl", "run-1-worker-1.jsonl"}
        events = [json.loads(line)["event"] for line in (logs / "run-1.jsonl").read_text().splitlines()]
        assert events == ["run.started", "run.ended"] * 2


def test_ctrl_c_at_a_terminal_reaches_the_workers_too_and_nobody_minds(workshop: Workshop) -> None:
    graph = ChangingGraph(400, seed=22)
    with graph_site(400, seed=22, delay_ms=20) as site:
        workshop.write(graph_task(f"{site.base}/"))
        crawl = started(workshop, site, 150, "--workers", "2")
        os.killpg(crawl.pid, signal.SIGINT)
        finished = crawl.wait().expect(130)
        assert finished.json["state"] == "paused"
        assert "Traceback" not in finished.err
        assert "died" not in finished.err
        workshop.run(*COMMAND, "--workers", "2").expect(0)
        assert graph.problems(workshop.rows()) == []


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_second_ctrl_c_ends_at_once(workshop: Workshop, workers: str) -> None:
    routes = {"/": [html("/", ["/slow", "/quick"])], "/quick": [html("/quick")]}
    routes["/slow"] = [{"delay_s": 20.0}, html("/slow")]
    with written_site(workshop.folder, routes=routes) as site:
        workshop.write(title_task(site.url("/")))
        crawl = workshop.start(*COMMAND, "--workers", workers)
        until(lambda: len(site.paths()) == 3, "the slow page to be asked for")
        team = crawl.workers()
        crawl.signal(signal.SIGINT)
        until(lambda: "stopping" in crawl.err, "the first Ctrl-C to be heard")
        before = time.monotonic()
        crawl.signal(signal.SIGINT)
        finished = crawl.wait().expect(130)
        assert time.monotonic() - before < 3.0
        assert "Traceback" not in finished.err
        assert not any(map(is_running, team))
        assert workshop.run("run", "list", "--json").json[0]["state"] == "paused"
        assert workshop.run(*COMMAND).expect(0).json["pages"] == 3
        assert sorted(row["title"] for row in workshop.rows()) == ["/", "/quick", "/slow"]
