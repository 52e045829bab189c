"""Pages and functions that hold a worker up in C: the culprit is named and given up, the rest is stored."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.server import ENVIRONMENT, Server, served
from tests.acceptance.workshop import (
    Command,
    Site,
    Workshop,
    children_of,
    html,
    is_running,
    title_task,
    until,
    written_site,
)

from smartspider_testing.sites import costly_pages

pytestmark = [pytest.mark.acceptance, pytest.mark.long, pytest.mark.timeout(180)]

GOOD = [f"/good/{number}" for number in range(30)]
OTHER = [f"/other/{number}" for number in range(60)]
STALL = {"SMARTSPIDER_STALL_S": "1", "SMARTSPIDER_ALLOW_PRIVATE": "127.0.0.0/8"}
PATIENT = {"SMARTSPIDER_STALL_S": "50"}
REASON = "unreadable: took more than 1 s in extract"
CANCEL_S = 5.0


def site_with(*bad: str) -> dict[str, Any]:
    """Ordinary pages that link to costly ones, and a list of other pages for a neighbour."""
    routes = {path: [html(path)] for path in (*GOOD, *OTHER)}
    routes |= {f"/{name}": [{"body": costly_pages.paragraphs()}] for name in bad}
    routes["/"] = [html("/", [*GOOD[:15], *(f"/{name}" for name in bad), *GOOD[15:]])]
    routes["/others"] = [html("/others", OTHER)]
    return {"routes": routes, "hosts": ["127.0.0.1", "127.0.0.2"]}


def costly_task(*entries: str, **more: Any) -> dict[str, Any]:
    """A task with an expression that holds a parser in C on costly pages."""
    return title_task(*entries, selectors={"fields": costly_pages.holding_rules()}, **more)


def expect_each_once(rows: list[dict[str, Any]], paths: list[str]) -> None:
    assert Counter(row["title"] for row in rows) == dict.fromkeys(paths, 1)


def test_a_crawl_in_one_process_names_the_page_that_froze_it(workshop: Workshop, figures: Figures) -> None:
    with written_site(workshop.folder, **site_with("bad")) as site:
        workshop.write(costly_task(site.url("/")))
        finished = workshop.run("crawl", "task.json", "-o", "rows.jsonl", "--json", env=STALL).expect(7)
        fetched = Counter(arrival.path for arrival in site.log())
        record = workshop.why(site.url("/bad"))["record"]
    assert (finished.json["pages"], finished.json["failed"]) == (31, 1)
    expect_each_once(workshop.rows(), ["/", *GOOD])
    assert (record["state"], record["reason"]) == ("broken", REASON)
    assert [one["reason"] for one in record["failures"]] == [REASON, REASON]
    assert fetched["/bad"] == 2, "once, and once more alone"
    assert "tried once more, alone" in finished.err
    figures(f"{finished.json['duration_s']:.1f} s, {sum(fetched.values()) - 32} pages fetched again")


@pytest.mark.soak
def test_a_page_that_eats_memory_is_named(workshop: Workshop) -> None:
    (workshop.folder / "functions.py").write_text(costly_pages.FUNCTIONS, encoding="utf-8")
    fields = {"title": {"type": "css", "expr": "h1::text", "steps": [{"use": "functions.py:eat_memory"}]}}
    env = {"SMARTSPIDER_STALL_S": "50", "SMARTSPIDER_WORKER_MEMORY": "500MB"}
    with written_site(workshop.folder, **site_with()) as site:
        workshop.write(title_task(site.url("/good/0"), selectors={"fields": fields}))
        finished = workshop.run("crawl", "task.json", "--json", env=env)
        record = workshop.why(site.url("/good/0"))["record"]
    assert finished.code in (6, 7), finished.err
    assert record["reason"] == "unreadable: needed more than 500MB in steps"


def interrupt_when_frozen(workshop: Workshop, *options: str) -> tuple[float, Command]:
    """Send SIGINT to a crawl that a page holds up; return after how long it ended."""
    with written_site(workshop.folder, **site_with("bad")) as site:
        workshop.write(costly_task(site.url("/")))
        crawl = workshop.start("crawl", "task.json", "--json", *options, env=PATIENT)
        until_frozen(site)
        children = children_of(crawl.pid)
        began_at = time.monotonic()
        crawl.signal(signal.SIGINT)
        crawl.wait()
        assert not any(map(is_running, children))
        return time.monotonic() - began_at, crawl


def until_frozen(site: Site) -> None:
    until(lambda: any(arrival.path == "/bad" for arrival in site.log()), "the costly page")


@pytest.mark.parametrize("options", [(), pytest.param(("--workers", "2"), marks=pytest.mark.soak)])
def test_a_frozen_crawl_ends_on_ctrl_c_and_can_be_resumed(
    workshop: Workshop, figures: Figures, options: tuple[str, ...]
) -> None:
    took_s, crawl = interrupt_when_frozen(workshop, *options)
    finished = crawl.wait().expect(130)
    assert finished.json["state"] == "paused"
    figures(f"ended {took_s:.1f} s after SIGINT")
    assert took_s < 15.0


def test_a_frozen_worker_of_a_server_costs_its_neighbours_little(
    workshop: Workshop, figures: Figures
) -> None:
    environment = {**ENVIRONMENT, **STALL}
    with (
        written_site(workshop.folder, **site_with("bad")) as site,
        served(workshop, "--workers", "2", environment=environment) as server,
    ):
        attack_and_check(server, site, figures)
        lines = server.ask("GET", "/api/logs?text=killed").expect(200).json["items"]
        assert any("/bad" in line["text"] for line in lines), lines
        metrics = server.ask("GET", "/metrics").expect(200).body.decode()
        assert 'smartspider_worker_kills_total{cause="stall"} 2' in metrics


@pytest.mark.soak
def test_a_frozen_worker_of_a_cluster_costs_its_neighbours_little(
    workshop: Workshop, cluster: Mapping[str, str], figures: Figures
) -> None:
    environment = {**cluster, **STALL}
    with (
        written_site(workshop.folder, **site_with("bad")) as site,
        served(workshop, "--workers", "2", environment=environment) as server,
    ):
        attack_and_check(server, site, figures)


def attack_and_check(server: Server, site: Site, figures: Figures) -> None:
    """Run a task with a costly page beside one without: the culprit is named, all other pages are stored."""
    hostile = server.create(costly_task(site.url("/"), name="hostile"))
    polite = {"robots": "ignore", "delay_s": 0.1}
    other = title_task(site.url("/others", "127.0.0.2"), name="neighbour", politeness=polite)
    neighbour = server.create(other)
    began_at = time.monotonic()
    runs = [server.begin(hostile), server.begin(neighbour)]
    bad, good = (server.until_state(run, "completed") for run in runs)
    figures(f"both runs took {time.monotonic() - began_at:.1f} s")
    assert (bad["fail_count"], good["fail_count"]) == (1, 0)
    expect_each_once(server.rows(runs[0]), ["/", *GOOD])
    expect_each_once(server.rows(runs[1]), ["/others", *OTHER])
    (failure,) = server.ask("GET", f"/api/runs/{runs[0]}/failures").expect(200).json["items"]
    assert (failure["url"], failure["reason"]) == (site.url("/bad"), REASON)


def test_a_server_with_frozen_workers_cancels_and_stops_in_time(workshop: Workshop, figures: Figures) -> None:
    environment = {**ENVIRONMENT, **PATIENT}
    with (
        written_site(workshop.folder, **site_with("bad", "worse")) as site,
        served(workshop, "--workers", "2", environment=environment) as server,
    ):
        task = server.create(costly_task(site.url("/bad"), site.url("/worse"), name="hostile"))
        run = server.begin(task)
        until_frozen(site)
        until(lambda: server.status(run)["in_flight"] == 2, "frozen workers")
        began_at = time.monotonic()
        server.ask("POST", f"/api/runs/{run}/cancel").expect(202)
        until(lambda: server.status(run)["in_flight"] == 0, "the end of its requests", 30)
        cancelled_s = time.monotonic() - began_at
        assert server.status(run)["state"] == "cancelled"
        second = server.begin(task)
        until(lambda: server.status(second)["in_flight"] == 2, "frozen workers", 30)
        processes, began_at = server.processes(), time.monotonic()
        server.stop()
        stopped_s = time.monotonic() - began_at
        assert not any(map(is_running, processes))
    figures(f"cancelled in {cancelled_s:.1f} s, stopped in {stopped_s:.1f} s")
    assert cancelled_s < 2 * CANCEL_S, "a safety net: five seconds on a machine that has time"
    assert stopped_s < 20.0


@pytest.mark.soak
def test_frozen_workers_die_with_a_killed_server(workshop: Workshop) -> None:
    environment = {**ENVIRONMENT, **PATIENT}
    with (
        written_site(workshop.folder, **site_with("bad")) as site,
        served(workshop, "--workers", "1", environment=environment) as server,
    ):
        server.begin(server.create(costly_task(site.url("/bad"), name="hostile")))
        until_frozen(site)
        server.kill(with_children=False)
