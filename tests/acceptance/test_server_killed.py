"""kill -9 of a whole server at any moment: the same runs go on, nothing is lost, doubled or fired twice."""

from __future__ import annotations

import random

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.server import ENVIRONMENT, Server, served
from tests.acceptance.workshop import Site, Workshop, graph_site, until

from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = [pytest.mark.acceptance, pytest.mark.long, pytest.mark.timeout(280)]

EVERY_S = 2
OFTEN = {**ENVIRONMENT, "SMARTSPIDER_SCHEDULE_INTERVAL": "1s"}


def until_fetched(sites: list[Site], more: int, server: Server, runs: list[str]) -> bool:
    """Wait for so many further fetches; False when the runs are over before that."""
    wanted = sum(site.fetches() for site in sites) + more

    def has_ended() -> bool:
        return all(server.status(run)["state"] == "completed" for run in runs)

    until(lambda: sum(site.fetches() for site in sites) >= wanted or has_ended(), f"{more} more fetches")
    return not has_ended()


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [(4, 250), pytest.param(20, 1200, marks=[pytest.mark.soak, pytest.mark.timeout(900)])],
)
def test_a_server_killed_again_and_again_goes_on_with_the_same_runs(
    workshop: Workshop, figures: Figures, wanted: int, pages: int
) -> None:
    draw = random.Random(7)
    graphs = [ChangingGraph(pages, seed=31), ChangingGraph(pages, seed=32)]
    with (
        graph_site(pages, seed=31, delay_ms=200) as one,
        graph_site(pages, seed=32, delay_ms=200) as two,
        graph_site(1, seed=33) as small,
        served(workshop, "--workers", "2", environment=OFTEN) as server,
    ):
        tasks = [
            server.create({**graph_task(f"{site.base}/"), "name": f"graph_{number}", "concurrency": 4})
            for number, site in enumerate((one, two))
        ]
        runs = [server.begin(task) for task in tasks]
        often = server.create({**graph_task(f"{small.base}/"), "name": "often"})
        schedule = (
            server.ask("POST", "/api/schedules", {"task_id": often, "every_s": EVERY_S, "enabled": True})
            .expect(201)
            .json["id"]
        )
        kills = 0
        while kills < wanted:
            if not until_fetched([one, two], draw.randint(1, 60), server, runs):
                break
            server.kill(with_children=bool(kills % 2))
            kills += 1
            server.start()
        for run, graph in zip(runs, graphs, strict=True):
            assert server.until_state(run, "completed")["fail_count"] == 0
            assert graph.problems(server.rows(run)) == []
        firings = server.ask("GET", f"/api/schedules/{schedule}/firings?limit=1000").expect(200).json["items"]
        times = [firing["fire_at"] for firing in firings]
        assert len(times) == len(set(times)), "a time was fired twice"
        started = [firing["run_id"] for firing in firings if firing["outcome"] == "started"]
        assert started
        assert len(started) == len(set(started))
        listed = server.ask("GET", f"/api/runs?task_id={often}&limit=1000").expect(200).json["items"]
        assert len(listed) == len(started), "a firing has a run of its own, and no run is without one"
        assert kills == wanted
    assert workshop.run("audit", "verify", "--data", "data", "--json").expect(0).json["valid"]
    assert workshop.run("fsck", "--data", "data", "--json").expect(0).json == []
    figures(
        f"{kills} kills of the server, {pages} pages twice, {len(started)} scheduled runs: 0 lost, 0 doubled"
    )
