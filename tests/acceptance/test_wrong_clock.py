"""A server whose wall clock is wrong for a while: nothing is deleted, lost, doubled or dated ahead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from tests.acceptance.server import ENVIRONMENT, Server, served
from tests.acceptance.workshop import Workshop, graph_site, until

from smartspider_testing.servers.clock import FakeClock
from smartspider_testing.sites.graph import ChangingGraph, graph_task

pytestmark = pytest.mark.acceptance

DAY_S = 86_400.0
EVERY_S = 2.0
SLACK_S = 5.0


@pytest.fixture
def clock(workshop: Workshop) -> FakeClock:
    folder = workshop.folder.parent / "clock"
    folder.mkdir()
    return FakeClock(folder, 0.0)


@pytest.fixture
def server(workshop: Workshop, clock: FakeClock) -> Iterator[Server]:
    environment = {**ENVIRONMENT, **clock.environment(), "SMARTSPIDER_SCHEDULE_INTERVAL": "1s"}
    with served(workshop, "--workers", "1", environment=environment) as server:
        pids = [server.command.pid, *server.processes()]
        yield server
    for pid in pids:
        clock.clean(pid)


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def be_wrong(server: Server, clock: FakeClock, offset_s: float, *, seconds: float, token: str) -> None:
    """Set the clock wrong for some seconds, and right again."""
    clock.set(offset_s)
    until(lambda: not clock_of(server)["is_confirmed"], "the jump to be noticed", 10.0)
    right_at = time.monotonic() + seconds
    told = clock_of(server)
    assert told["ahead_s"] == pytest.approx(offset_s, abs=SLACK_S)
    assert abs(moment(told["store_time"]) - time.time()) < SLACK_S
    (check,) = [one for one in server.ask("GET", "/readyz").json["checks"] if one["name"] == "clock"]
    assert "jumped" in check["detail"]
    until(lambda: time.monotonic() >= right_at, "the wrong clock to last", seconds + 5.0)
    assert server.ask("GET", "/api/auth/me", Authorization=f"Bearer {token}").status == 200
    clock.set(0.0)
    until(lambda: clock_of(server)["is_confirmed"], "the clock to be right", 10.0)
    until(lambda: clock_actions(server)[0] == "clock.agreed", "the keeper to agree", 10.0)


def clock_actions(server: Server) -> list[str]:
    """Return the audit actions about the clock, newest first."""
    audit = server.ask("GET", "/api/audit?limit=200").expect(200).json["items"]
    return [one["action"] for one in audit if one["action"].startswith("clock.")]


def clock_of(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("GET", "/api/nodes/clock").expect(200).json
    return found


@pytest.mark.parametrize(
    "seconds", [2.0, pytest.param(40.0, marks=[pytest.mark.soak, pytest.mark.timeout(300)])]
)
def test_a_wrong_clock_in_the_middle_of_everything_changes_nothing(
    server: Server, clock: FakeClock, seconds: float
) -> None:
    pages = int(30 + 20 * seconds)
    graph = ChangingGraph(pages, seed=3)
    with graph_site(pages, seed=3) as site:
        begun_at = time.time()
        task = graph_task(f"{site.base}/") | {"name": "graph", "politeness": {"delay_s": 0.1}}
        idle = server.create({"name": "idle", "entry_urls": [f"{site.base}/p/0"], "limits": {"max_pages": 1}})
        daily = server.ask("POST", "/api/schedules", {"task_id": idle, "cron": "0 6 * * *"}).expect(201).json
        often = {"task_id": idle, "every_s": EVERY_S, "overlap": "allow"}
        often_id = server.ask("POST", "/api/schedules", often).expect(201).json["id"]
        access = server.ask("POST", "/api/tokens", {"name": "t", "role": "viewer", "expires_in_s": 3600}).json
        run = server.begin(server.create(task))
        for offset_s in (300 * DAY_S, -DAY_S):
            be_wrong(server, clock, offset_s, seconds=seconds, token=access["token"])
        server.ask("PATCH", f"/api/schedules/{often_id}", {"enabled": False}).expect(200)
        server.until_state(run, "completed")
        rows = server.rows(run)
        assert graph.problems(rows) == []
        shown = server.ask("GET", f"/api/schedules/{daily['id']}").expect(200).json
        assert shown["next_fire_at"] == daily["next_fire_at"]
        firings = server.ask("GET", f"/api/schedules/{often_id}/firings?limit=200").expect(200).json["items"]
        times = sorted(moment(one["fire_at"]) for one in firings)
        assert len(times) >= 2 * seconds / EVERY_S - 1
        assert all(later - earlier == pytest.approx(EVERY_S) for earlier, later in pairwise(times))
        now = time.time()
        for one in server.ask("GET", "/api/runs?limit=200").expect(200).json["items"]:
            assert begun_at - SLACK_S < moment(one["created_at"]) < now + SLACK_S
        assert clock_actions(server) == ["clock.agreed", "clock.doubted", "clock.agreed", "clock.doubted"]
        assert server.ask("GET", "/api/logs?limit=200").expect(200).json["items"]
