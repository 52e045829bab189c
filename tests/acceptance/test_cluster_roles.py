"""A cluster as its users run it: two addresses in the environment, and the same commands."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

import pytest
from tests.acceptance.server import Server
from tests.acceptance.workshop import (
    Command,
    Workshop,
    children_of,
    graph_site,
    greeted,
    is_running,
    until,
)

from smartspider.demo.process import site_process
from smartspider.demo.shop import demo_task
from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

PAGES = 100
ROWS = 240
"""Products of the demo shop."""


def ends(command: Command, code: int = 0) -> None:
    """It leaves in good order when it is asked to."""
    command.signal(signal.SIGTERM)
    assert command.wait().code == code, command.err


def test_two_addresses_move_a_crawl_to_a_cluster(workshop: Workshop, cluster: Mapping[str, str]) -> None:
    up = workshop.start("up", "--port", "0", "--workers", "2", "--json", env=cluster)
    server = Server(workshop)
    server.url = str(greeted(up)["url"])
    with site_process("smartspider.demo.shop") as shop:
        workshop.write(demo_task(shop))
        applied = workshop.run("task", "apply", "task.json", "--json", env=cluster).expect(0)
        started = workshop.run("run", "start", "demo_shop", "--json", env=cluster).expect(0)
        run_id = str(started.json["run_id"])
        until(lambda: server.status(run_id)["success_count"] >= 50, "a part of the crawl")
        os.kill(up.workers()[0], signal.SIGKILL)
        assert server.until_state(run_id, "completed")["items"] == ROWS
        assert len(server.rows(run_id)) == ROWS
        listed = server.ask("GET", "/api/nodes").expect(200).json["items"][0]["workers"]
        worker = next(one for one in listed if one["pid"] in up.workers())  # not the one that was killed
        tuned = workshop.run("node", "tune", worker["id"], "--slots", "3", "--json", env=cluster)
        assert tuned.expect(0).json["workers"] == 1
    workshop.run("results", "export", "-o", "rows.jsonl", env=cluster).expect(0)
    assert len(workshop.rows()) == ROWS
    assert applied.json["version"] == 1
    processes = children_of(up.pid)
    ends(up)
    assert not any(map(is_running, processes))
    assert not [name for name in workshop.files() if name.endswith(".db")], "nothing is kept in files"


def test_a_killed_worker_costs_no_page_and_a_drained_one_finishes(
    workshop: Workshop, cluster: Mapping[str, str]
) -> None:
    keeper = workshop.start("keeper", "--json", env=cluster)
    first = workshop.start("worker", "--concurrency", "4", "--json", env=cluster)
    second = workshop.start("worker", "--processes", "1", "--concurrency", "4", "--json", env=cluster)
    for role in (keeper, first, second):
        greeted(role)
    with graph_site(PAGES, delay_ms=20.0) as site:
        task = graph_task(f"{site.base}/")
        workshop.write(task)
        workshop.run("task", "apply", "task.json", env=cluster).expect(0)
        started = workshop.run("run", "start", str(task["name"]), "--json", env=cluster).expect(0)
        until(lambda: site.fetches() >= 20, "a part of the crawl")
        first.kill()
        until(lambda: len(second.workers()) == 1, "a supervised worker")
        os.kill(second.workers()[0], signal.SIGKILL)
        run_id = str(started.json["run_id"])

        def state() -> str:
            shown = workshop.run("run", "list", "--json", env=cluster).expect(0).json
            return str(next(one["state"] for one in shown if str(one["run_id"]) == run_id))

        until(lambda: state() == "completed", "the end of the run", 60)
    workshop.run("results", "export", "--run", run_id, "-o", "rows.jsonl", env=cluster).expect(0)
    assert ChangingGraph(PAGES, seed=1).problems(workshop.rows()) == []
    for role in (second, keeper):
        ends(role)


def test_a_cluster_without_a_master_key_is_refused_in_one_line(
    workshop: Workshop, cluster: Mapping[str, str]
) -> None:
    bare = {name: value for name, value in cluster.items() if name != "SMARTSPIDER_MASTER_KEY"}
    for role in (("api", "--port", "0"), ("keeper",)):
        ended = workshop.run(*role, env=bare)
        assert ended.code == 2, ended.err
        assert "SMARTSPIDER_MASTER_KEY is not set" in ended.err
    half = {**bare, "SMARTSPIDER_FRONTIER_URL": ""}
    assert "one half of a cluster" in workshop.run("worker", env=half).expect(2).err
