"""Workers that come when there is much to do and go when there is little, as their users run them."""

from __future__ import annotations

import signal
from collections.abc import Mapping

import pytest
from tests.acceptance.server import ENVIRONMENT, TOKEN, Server
from tests.acceptance.workshop import Command, Workshop, graph_site, greeted, until

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = pytest.mark.acceptance

PAGES = 150
QUICK = {"SMARTSPIDER_SCALE_HORIZON": "2s", "SMARTSPIDER_SCALE_DOWN_AFTER": "2s"}


@pytest.fixture
def elastic_cluster(cluster: Mapping[str, str]) -> Mapping[str, str]:
    return {**cluster, **QUICK}


def ends(command: Command) -> None:
    command.signal(signal.SIGTERM)
    assert command.wait().code == 0, command.err


def start(workshop: Workshop, task: Mapping[str, object], env: Mapping[str, str]) -> str:
    workshop.write(task)
    workshop.run("task", "apply", "task.json", env=env).expect(0)
    started = workshop.run("run", "start", str(task["name"]), "--json", env=env).expect(0)
    return str(started.json["run_id"])


def test_a_cluster_grows_to_what_the_backlog_wants_and_shrinks_without_losing_or_doubling_a_page(
    workshop: Workshop, elastic_cluster: Mapping[str, str]
) -> None:
    env = elastic_cluster
    keeper = workshop.start("keeper", "--json", env=env)
    workers = workshop.start("worker", "--processes", "1-3", "--concurrency", "2", "--json", env=env)
    greeted(keeper)
    assert greeted(workers)["most_processes"] == 3
    with graph_site(PAGES, delay_ms=100.0) as site:
        run_id = start(workshop, graph_task(f"{site.base}/"), env)
        until(lambda: len(workers.workers()) == 3, "three workers")
        until(lambda: len(workers.workers()) == 1, f"one worker\n{workers.err}")

        def state() -> str:
            shown = workshop.run("run", "list", "--json", env=env).expect(0).json
            return str(next(one["state"] for one in shown if str(one["run_id"]) == run_id))

        until(lambda: state() == "completed", "the end of the run")
    workshop.run("results", "export", "--run", run_id, "-o", "rows.jsonl", env=env).expect(0)
    assert ChangingGraph(PAGES, seed=1).problems(workshop.rows()) == []
    assert "workers are desired" in workers.err
    assert "starting" in workers.err
    assert "draining" in workers.err
    quiet = "0 workers desired, 1 running (1 started by autoscaling): "
    until(lambda: workshop.run("node", "scaling", env=env).expect(0).out.startswith(quiet), quiet)
    ends(workers)
    ends(keeper)


def test_a_gate_that_lets_one_request_through_keeps_it_at_one_worker(workshop: Workshop) -> None:
    env = {**ENVIRONMENT, **QUICK}
    up = workshop.start("up", "--data", "data", "--port", "0", "--workers", "0", "--json", env=env)
    server = Server(workshop, token=TOKEN)
    server.url = str(greeted(up)["url"])
    options = ("--data", "data", "--processes", "0-3", "--concurrency", "1", "--json")
    workers = workshop.start("worker", *options, env=env)
    with graph_site(PAGES, delay_ms=5.0) as site:
        task = graph_task(f"{site.base}/")
        task["politeness"] = {"robots": "ignore", "delay_s": 0.6, "per_host": 16, "adaptive": False}
        task["entry_urls"] = [f"{site.base}/p/{number}" for number in range(PAGES)]
        workshop.write(task)
        workshop.run("task", "apply", "task.json", "--data", "data", env=env).expect(0)
        workshop.run("run", "start", str(task["name"]), "--data", "data", env=env).expect(0)
        until(lambda: site.fetches() >= 2, f"some pages\n{workers.err}")
        seen = scaling(server)["at"]
        until(lambda: scaling(server)["at"] != seen and site.fetches() >= 5, "some more")
        told = scaling(server)
        assert (told["desired"], told["workers"], told["elastic"]) == (1, 1, 1)
        assert "politeness allows 1 request at a time at 1 host; one worker makes up to 1" in str(
            told["reason"]
        )
        metrics = server.ask("GET", "/metrics").expect(200).body.decode()
        assert "\nsmartspider_workers_desired 1.0\n" in metrics
        assert workers.err.count("starting") == 1
    ends(workers)
    ends(up)


def scaling(server: Server) -> dict[str, object]:
    told: dict[str, object] = server.ask("GET", "/api/nodes/scaling").expect(200).json
    return told
