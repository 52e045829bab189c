"""A greedy user of a server and a modest one: the modest one is served as if alone."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.server import ENVIRONMENT, Server, served
from tests.acceptance.workshop import Site, Workshop, html, title_task, until, written_site

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(150)]

PAGES = [f"/page/{number}" for number in range(20)]
LONG = [f"/long/{number}" for number in range(20)]
DAY_S = 86_400.0
SLOW_HOSTS = [f"127.0.1.{number}" for number in range(1, 201)]
SLOW_TASKS = 4


def routes() -> dict[str, Any]:
    """A list of pages, and one of pages whose rows do not fit into the buffers of a connection."""
    found: dict[str, Any] = {path: [html(path)] for path in PAGES}
    found |= {path: [html(f"{path}{'x' * 1_000_000}")] for path in LONG}
    return {**found, "/": [html("/", PAGES)], "/long": [html("/long", LONG)]}


def task(site: Site, name: str, path: str, delay_s: float) -> dict[str, Any]:
    made = title_task(site.url(path), name=name)
    return {**made, "politeness": {"robots": "ignore", "delay_s": delay_s}}


def as_operator(server: Server, name: str) -> Server:
    """The same server, used by an operator."""
    sent = {"name": name, "role": "operator"}
    own = copy(server)
    own.token = server.ask("POST", "/api/tokens", sent).expect(201).json["token"]
    return own


@contextmanager
def unread_export(server: Server, run_id: str) -> Iterator[int]:
    """An export of which nothing is read but its status."""
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), 30) as client:
        request = (
            f"POST /api/results/export?run_id={run_id} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n"
        )
        client.sendall(request.encode())
        yield int(client.recv(13).split()[1])


def test_a_greedy_user_leaves_a_modest_one_what_it_needs(workshop: Workshop, figures: Figures) -> None:
    with written_site(workshop.folder, routes=routes()) as site, served(workshop) as server:
        greedy, modest = as_operator(server, "greedy"), as_operator(server, "modest")
        big = server.begin(server.create(task(site, "big", "/long", 0.0)))
        assert server.until_state(big, "completed")["items"] == len(LONG) + 1
        halted = greedy.begin(greedy.create(task(site, "halted", "/", DAY_S)))
        greedy.ask("POST", "/api/hosts/127.0.0.1/hold", {"seconds": DAY_S, "reason": "mine"}).expect(200)
        greedy.ask("POST", "/api/hosts/127.0.0.1/hold", {"seconds": 9, "scope": "all"}).expect(403)
        with ExitStack() as stack:
            opened = [stack.enter_context(unread_export(greedy, big)) for _ in range(20)]
            targets = [
                greedy.ask(
                    "POST",
                    "/api/notifications",
                    {"kind": "webhook", "address": f"{site.url('/')}?{number}", "events": ["run.failed"]},
                )
                for number in range(102)
            ]
            started = time.monotonic()
            run = modest.begin(modest.create(task(site, "modest", "/", 0.05)))
            status = modest.until_state(run, "completed")
            took_s = time.monotonic() - started
            assert len(modest.rows(run)) == len(PAGES) + 1
            wish = {"url": site.url("/"), "rules": "h1::text"}
            assert modest.ask("POST", "/api/preview", wish).expect(200).json["items"]
            modest.ask(
                "POST",
                "/api/notifications",
                {"kind": "webhook", "address": site.url("/"), "events": ["run.failed"]},
            ).expect(201)
            metrics = server.ask("GET", "/metrics").expect(200).body.decode()
        stall = greedy.ask("GET", f"/api/runs/{halted}/explain-stall").expect(200).json
    assert Counter(opened) == {200: 8, 429: 12}
    assert Counter(one.status for one in targets) == {201: 100, 409: 2}
    assert targets[-1].json["code"] == "quota_reached"
    assert (status["success_count"], status["fail_count"]) == (len(PAGES) + 1, 0)
    assert 'smartspider_api_slots_in_use{kind="exports"} 8.0' in metrics
    assert "token:greedy" in str(stall["causes"])
    figures(f"{len(PAGES) + 1} pages at 0.05 s beside a delay of a day and a hold: {took_s:.1f} s")


@contextmanager
def beside_slow_hosts(
    workshop: Workshop, *options: str, timeout_s: float
) -> Iterator[tuple[Site, Server, Server]]:
    """A site, and a server with a greedy user of 200 hosts that send a byte a second and a modest one."""
    slow = {"hostile": "slow_drip", "options": {"interval_s": 1.0}}
    prefixes = {"/slow": slow, "/page/": html("page")}
    spec = {"routes": routes(), "prefixes": prefixes, "hosts": ["127.0.0.1", *SLOW_HOSTS]}
    environment = ENVIRONMENT | {"SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.0/8"}
    with (
        written_site(workshop.folder, **spec) as site,
        served(workshop, *options, environment=environment) as server,
    ):
        greedy = as_operator(server, "greedy")
        urls = [site.url("/slow", host) for host in SLOW_HOSTS]
        for number in range(SLOW_TASKS + 1):
            made = title_task(*urls, name=f"slow_{number}", fetch={"timeout_s": timeout_s})
            greedy.create({**made, "politeness": {"robots": "ignore"}})
        yield site, greedy, as_operator(server, "modest")


def begin_slow_runs(greedy: Server) -> list[str]:
    """Start all slow tasks but one, and wait until they hold as many requests as they may."""
    runs = [greedy.begin(f"slow_{number}") for number in range(SLOW_TASKS)]
    until(
        lambda: sum(greedy.status(run)["in_flight"] for run in runs) == 16 * SLOW_TASKS,
        "all runs to wait for slow hosts",
    )
    return runs


def test_slow_hosts_of_one_user_take_no_slots_from_another(workshop: Workshop) -> None:
    """Only one worker: what waits is as much as one user may have."""
    with beside_slow_hosts(workshop, "--workers", "1", timeout_s=600.0) as (site, greedy, modest):
        runs = begin_slow_runs(greedy)
        run = modest.begin(modest.create(task(site, "modest", "/", 0.05)))
        modest.until_state(run, "completed")
        statuses = [greedy.status(one) for one in runs]
        assert [(one["success_count"], one["fail_count"]) for one in statuses] == [(0, 0)] * SLOW_TASKS
        assert len(modest.rows(run)) == len(PAGES) + 1
        more = greedy.begin(f"slow_{SLOW_TASKS}")

        def names_the_cause() -> bool:
            causes = greedy.ask("GET", f"/api/runs/{more}/explain-stall").expect(200).json["causes"]
            return any(one["code"] == "too_many_waiting" and "token:greedy" in one["what"] for one in causes)

        until(names_the_cause, "the cause of the stall")
        metrics = greedy.ask("GET", "/metrics").expect(200).body.decode()
        assert f"smartspider_requests_waiting {16.0 * SLOW_TASKS}" in metrics
        for one in (*runs, more):
            greedy.ask("POST", f"/api/runs/{one}/cancel").expect(202)


@pytest.mark.soak
def test_a_run_keeps_its_pace_beside_slow_hosts_of_another_user(workshop: Workshop, figures: Figures) -> None:
    """With all defaults: 200 slow hosts, and pages that are fetched again and again."""
    with beside_slow_hosts(workshop, timeout_s=30.0) as (site, greedy, modest):
        pages = title_task(*(site.url(f"/page/{n % 20}?{n}") for n in range(600)), name="pages")
        task_id = modest.create({**pages, "politeness": {"robots": "ignore", "delay_s": 0.05}})
        alone = modest.until_state(modest.begin(task_id), "completed")
        begin_slow_runs(greedy)
        began_at = time.monotonic()
        run = modest.begin(task_id)
        until(lambda: modest.status(run)["success_count"] > 0, "the first page")
        first_s = time.monotonic() - began_at
        beside = modest.until_state(run, "completed")
    alone_s, beside_s = alone["duration_s"], beside["duration_s"]
    figures(f"600 pages: alone {alone_s:.1f} s, beside {beside_s:.1f} s, first page after {first_s:.1f} s")
    assert beside_s * 0.8 <= alone_s
    assert first_s <= 2.0
