"""The session of a run survives whatever happens to its workers: a login is needed once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from tests.acceptance.server import Server, served
from tests.acceptance.workshop import Command, Site, Workshop, greeted, until

from smartspider.demo.process import site_process
from smartspider_testing.sites.members import CANARY, ENTRIES, members_task

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(280)]

CRAWL = ("crawl", "task.json", "-o", "rows.jsonl", "--json")
ONE_AT_A_TIME: dict[str, Any] = {"politeness": {"robots": "ignore", "delay_s": 0, "per_host": 1}}
"""A cookie that is good once allows one request at a time, in any browser."""


@contextmanager
def members(*options: str) -> Iterator[Site]:
    with site_process("smartspider_testing.sites.members", "--delay-ms", "30", *options) as url:
        yield Site(url)


def until_served(site: Site, count: int, has_ended: Callable[[], bool] = lambda: False) -> None:
    """Wait until members have read so many pages."""
    until(lambda: has_ended() or len(site.ask("/_stats")["served"]) >= count, f"{count} pages")
    assert not has_ended(), "the crawl ended before"


def assert_whole(site: Site, rows: list[dict[str, Any]]) -> None:
    """Every entry is a row, and one login was enough."""
    assert sorted(row["name"] for row in rows) == sorted(ENTRIES)
    stats = site.ask("/_stats")
    assert (stats["logins"], stats["refused"]) == (1, [])


def assert_secret(workshop: Workshop) -> None:
    """No cookie stands in a file but the store, nor in what the commands print."""
    workshop.run("logs", "-n", "1000", "--level", "debug", "--json", "--data", "data")
    for path in [*workshop.folder.rglob("*"), *workshop.logs.iterdir()]:
        if path.is_file() and not path.name.startswith("smartspider.db"):
            assert CANARY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("options", "more"),
    [((), {}), (("--refusal", "words", "--rotates", "1"), ONE_AT_A_TIME)],
    ids=["a lasting cookie", "a cookie that every answer replaces"],
)
def test_a_crawl_that_is_killed_five_times_is_still_signed_in(
    workshop: Workshop, options: tuple[str, ...], more: dict[str, Any]
) -> None:
    with members(*options) as site:
        workshop.write(members_task(site.base, **more))
        for count in (3, 8, 14, 22, 30):
            crawl = workshop.start(*CRAWL, "--data", "data")
            until_served(site, count, crawl.has_ended)
            crawl.kill()
        workshop.run(*CRAWL, "--data", "data").expect(0)
        assert_whole(site, workshop.rows())
    assert_secret(workshop)


def test_an_interrupted_crawl_goes_on_signed_in(workshop: Workshop) -> None:
    with members("--rotates", "1") as site:
        workshop.write(members_task(site.base, **ONE_AT_A_TIME))
        for count in (5, 20):
            crawl = workshop.start(*CRAWL)
            until_served(site, count, crawl.has_ended)
            crawl.signal(signal.SIGINT)
            assert crawl.wait().code == 130
        workshop.run(*CRAWL).expect(0)
        assert_whole(site, workshop.rows())


def test_all_workers_of_a_crawl_know_its_cookies(workshop: Workshop) -> None:
    with members("--refusal", "words", "--rotates", "1") as site:
        workshop.write(members_task(site.base, **ONE_AT_A_TIME))
        crawl = workshop.start(*CRAWL, "--workers", "3")
        until(lambda: crawl.has_ended() or len(crawl.workers()) == 3, "three workers")
        for number, worker in enumerate(crawl.workers()):  # whoever signed in is one of them
            until_served(site, 4 + 6 * number, crawl.has_ended)
            os.kill(worker, signal.SIGKILL)
        crawl.wait().expect(0)
        assert_whole(site, workshop.rows())


def test_a_server_keeps_a_session_through_whatever_its_run_meets(workshop: Workshop) -> None:
    with members("--rotates", "1") as site, served(workshop, "--workers", "2") as server:
        run = server.begin(server.create(members_task(site.base, **ONE_AT_A_TIME)))
        until_served(site, 4)
        os.kill(server.command.workers()[0], signal.SIGKILL)
        until_served(site, 8)
        server.ask("PATCH", f"/api/runs/{run}", {"delay_s": 0.01}).expect(200)
        until_served(site, 14)
        server.ask("POST", f"/api/runs/{run}/pause").expect(202)
        until(lambda: server.status(run)["in_flight"] == 0, "no request in flight")
        server.ask("POST", f"/api/runs/{run}/resume").expect(202)
        until_served(site, 20)
        server.kill(with_children=True)
        server.start()
        assert server.until_state(run, "completed")["fail_count"] == 0
        assert_whole(site, server.rows(run))
        assert_no_answer_shows_a_cookie(server, run, f"{site.base}/entry/1")
    assert_secret(workshop)


def test_a_cluster_keeps_a_session_when_a_worker_is_killed(
    workshop: Workshop, cluster: Mapping[str, str]
) -> None:
    two_at_a_time = {"robots": "ignore", "delay_s": 0, "per_host": 2}
    with members("--rotates", "3") as site:
        workshop.write(members_task(site.base, politeness=two_at_a_time))
        roles = [workshop.start("keeper", "--json", env=cluster)]
        roles += [workshop.start("worker", "--concurrency", "1", "--json", env=cluster) for _ in range(2)]
        for role in roles:
            greeted(role)
        workshop.run("task", "apply", "task.json", env=cluster).expect(0)
        workshop.run("run", "start", "members", "--json", env=cluster).expect(0)
        until_served(site, 10)
        roles[1].kill()
        until(lambda: _has_completed(workshop, cluster), "the end of the run", 120)
        workshop.run("results", "export", "-o", "rows.jsonl", env=cluster).expect(0)
        assert_whole(site, workshop.rows())
        _end(roles)


def test_a_task_can_do_without_cookies(workshop: Workshop) -> None:
    with members() as site:
        workshop.write(members_task(site.base, fetch={"cookies": False}))
        summary = workshop.run("crawl", "task.json", "--json").json
        assert summary["items"] == 0
        assert site.ask("/_stats")["logins"] == 0


def assert_no_answer_shows_a_cookie(server: Server, run: str, entry: str) -> None:
    """Whatever can be read of a run does not contain the values of its cookies."""
    own = ("", "/metrics", "/logs?limit=1000", "/pages?limit=100", "/failures", "/receipt", "/explain-stall")
    explain = f"/api/explain?url={quote(entry, safe='')}&run_id={run}"
    for path in (*(f"/api/runs/{run}{each}" for each in own), explain, "/metrics", "/api/audit"):
        assert CANARY.encode() not in server.ask("GET", path).expect(200).body, path
    for kind in ("jsonl", "csv"):
        path = f"/api/results/export?run_id={run}&format={kind}&envelope=true"
        assert CANARY.encode() not in server.ask("POST", path).expect(200).body


def _has_completed(workshop: Workshop, cluster: Mapping[str, str]) -> bool:
    listed = workshop.run("run", "list", "--json", env=cluster).expect(0).json
    return bool(listed[0]["state"] == "completed")


def _end(roles: list[Command]) -> None:
    for role in roles:
        role.signal(signal.SIGTERM)
    for role in roles:
        role.wait()
