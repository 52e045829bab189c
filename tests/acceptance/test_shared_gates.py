"""Crawls of one user on one machine, each in a folder of its own, measured at the host they share."""

from __future__ import annotations

import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import Figures
from tests.acceptance.server import served
from tests.acceptance.workshop import Command, Site, Workshop, html, title_task, until, written_site

from smartspider_testing.sites.http_server import ReceivedRequest
from smartspider_testing.sites.scripted import gaps_of, peak_of

pytestmark = [pytest.mark.acceptance, pytest.mark.timed]

DELAY_S = 0.5
FLOOR_S = 0.45
CRAWLS = ("red", "blue", "green")


def shelf_routes(shelf: str, pages: int, **answer: Any) -> dict[str, list[dict[str, Any]]]:
    """Return a list of pages."""
    paths = [f"/{shelf}/{number}" for number in range(pages)]
    return {f"/{shelf}": [html(shelf, paths)]} | {path: [html(path) | answer] for path in paths}


def start(workshop: Workshop, site: Site, shelf: str, **politeness: Any) -> Command:
    """Start or resume the crawl of a list, in the default folder of its task."""
    polite = {"robots": "ignore", "adaptive": False, **politeness}
    workshop.write(title_task(site.url(f"/{shelf}"), name=shelf, politeness=polite), f"{shelf}.json")
    return workshop.start("crawl", f"{shelf}.json", "--json")


def receipt_of(workshop: Workshop, shelf: str) -> dict[str, Any]:
    shown = workshop.run("run", "show", "--data", f".smartspider/{shelf}", "--json").expect(0).json
    receipt: dict[str, Any] = shown["receipt"][0]
    return receipt


def gaps_before(log: list[ReceivedRequest], shelf: str) -> list[float]:
    """Return the seconds between each request of a crawl and the one before it, whoever sent that."""
    ordered = sorted(log, key=lambda one: one.arrived_at)
    return [
        two.arrived_at - one.arrived_at for one, two in pairwise(ordered) if two.path.startswith(f"/{shelf}")
    ]


def started(site: Site, shelf: str, requests: int) -> bool:
    return sum(path.startswith(f"/{shelf}") for path in site.paths()) >= requests


@pytest.mark.timeout(180)
def test_three_crawls_in_three_folders_keep_the_delay_of_their_host_together(
    workshop: Workshop, figures: Figures
) -> None:
    routes: dict[str, Any] = {}
    for shelf in CRAWLS:
        routes |= shelf_routes(shelf, 8)
    with written_site(workshop.folder, routes=routes) as site:
        crawls = {shelf: start(workshop, site, shelf, delay_s=DELAY_S) for shelf in CRAWLS}
        until(lambda: all(started(site, shelf, 2) for shelf in CRAWLS), "requests of all crawls")
        crawls["blue"].kill()
        seen = len(site.log())
        until(lambda: len(site.log()) >= seen + 4, "requests of the others")
        crawls["blue"] = start(workshop, site, "blue", delay_s=DELAY_S)
        for crawl in crawls.values():
            assert crawl.wait(90).expect(0).json["pages"] == 9
        log = site.log()
        gaps = gaps_of(log)
        order = "".join(one.path[1] for one in log)
        figures(f"{len(log)} requests of three crawls, gaps {min(gaps):.3f} to {max(gaps):.3f} s: {order}")
        assert min(gaps) >= FLOOR_S
        for shelf in CRAWLS:
            receipt, found = receipt_of(workshop, shelf), gaps_before(log, shelf)
            assert receipt["violations"] == 0
            assert receipt["smallest_gap_s"] == pytest.approx(min(found), abs=DELAY_S - FLOOR_S)
        both = order[: order.rfind("r") + 1]  # until the first of them ends, slots come in turn
        assert abs(both.count("r") - both.count("g")) <= 3


def test_a_crawl_without_a_delay_gives_way_to_one_with_a_delay(workshop: Workshop, figures: Figures) -> None:
    routes = shelf_routes("red", 3000, delay_s=0.02) | shelf_routes("blue", 8)
    with written_site(workshop.folder, routes=routes) as site:
        fast = start(workshop, site, "red", delay_s=0)
        until(lambda: started(site, "red", 50), "requests without a delay")
        slow = start(workshop, site, "blue", delay_s=0.3)
        assert slow.wait().expect(0).json["pages"] == 9
        log = site.log()
        first = next(one.arrived_at for one in log if one.path.startswith("/blue"))
        last = max(one.arrived_at for one in log if one.path.startswith("/blue"))
        together = [one for one in log if first - 0.25 <= one.arrived_at <= last]
        gaps = gaps_of(together)
        names = {one.path.split("/")[1] for one in together}
        figures(f"{len(together)} requests of {sorted(names)}, smallest gap {min(gaps):.3f} s at 0.3 s")
        assert min(gaps) >= 0.25
        assert names == {"red", "blue"}
        receipt = receipt_of(workshop, "blue")
        assert receipt["violations"] == 0
        assert receipt["smallest_gap_s"] == pytest.approx(min(gaps_before(together, "blue")), abs=0.05)
        seen = len(site.log())
        until(lambda: len(site.log()) >= seen + 100, "the fast crawl to go on without a delay")
        fast.kill()


def test_a_killed_crawl_delays_the_others_for_a_moment_only(workshop: Workshop) -> None:
    routes = shelf_routes("red", 8) | shelf_routes("blue", 40)
    with written_site(workshop.folder, routes=routes) as site:
        strict = start(workshop, site, "red", delay_s=10)
        until(lambda: started(site, "red", 1), "a request of the strict crawl")
        lenient = start(workshop, site, "blue", delay_s=0.1)
        until(lambda: lenient.out == b"" and (workshop.folder / ".smartspider/blue").exists(), "its start")
        strict.kill()
        assert lenient.wait(40).expect(0).json["pages"] == 41  # 400 s, if the claim had outlived its crawl


def test_crawls_share_the_limit_of_requests_in_flight(workshop: Workshop, figures: Figures) -> None:
    routes: dict[str, Any] = {}
    for shelf in CRAWLS:
        routes |= shelf_routes(shelf, 20, delay_s=0.1)
    with written_site(workshop.folder, routes=routes) as site:
        crawls = [
            start(workshop, site, shelf, delay_s=0, per_host=2 if shelf == "red" else 3) for shelf in CRAWLS
        ]
        until(lambda: all(started(site, shelf, 1) for shelf in CRAWLS), "all crawls")
        begun = max(next(one.arrived_at for one in site.log() if one.path == f"/{shelf}") for shelf in CRAWLS)
        assert [crawl.wait().expect(0).json["pages"] for crawl in crawls] == [21, 21, 21]
        log = site.log()
        ended = max(one.answered_at or 0.0 for one in log if one.path.startswith("/red"))
        strict = [one for one in log if begun <= one.arrived_at and (one.answered_at or 0.0) <= ended]
        figures(f"peak in flight {peak_of(log)} of 3, {peak_of(strict)} of 2 while all three crawl")
        assert peak_of(log) <= 3
        assert peak_of(strict) <= 2


def test_a_crawl_waits_out_what_another_one_was_asked(workshop: Workshop, figures: Figures) -> None:
    routes = shelf_routes("red", 400, delay_s=0.02) | shelf_routes("blue", 1)
    routes["/blue"] = [{"hostile": "too_many", "options": {"retry_after": 2.0, "status": 429}}, html("blue")]
    with written_site(workshop.folder, routes=routes) as site:
        other = start(workshop, site, "red", delay_s=0, per_host=1)
        until(lambda: started(site, "red", 20), "requests")
        start(workshop, site, "blue", delay_s=0, per_host=1).wait().expect(0)
        log = site.log()
        asked = next(one for one in log if one.path == "/blue")
        assert asked.answered_at is not None
        after = [one.arrived_at - asked.answered_at for one in log if one.arrived_at > asked.answered_at]
        late = [moment for moment in after if moment < 2.0 - 0.001]
        figures(f"asked for 2 s; {len(late)} requests of another crawl came before that: {late}")
        # A request that was leased before the answer was settled may still leave.
        assert all(moment < 0.25 for moment in late)
        other.kill()


def test_fetch_and_a_dry_run_wait_for_the_slots_of_a_crawl(workshop: Workshop, figures: Figures) -> None:
    routes = shelf_routes("red", 40) | shelf_routes("blue", 2)
    with written_site(workshop.folder, routes=routes) as site:
        crawl = start(workshop, site, "red", delay_s=DELAY_S)
        until(lambda: started(site, "red", 2), "requests")
        workshop.write(title_task(site.url("/blue"), politeness={"robots": "ignore", "delay_s": 0}))
        commands = [
            workshop.start("fetch", site.url("/blue"), "--ignore-robots", "--head"),
            workshop.start("suggest", site.url("/blue"), "--ignore-robots"),
            workshop.start("dry-run", "task.json"),
        ]
        for command in commands:
            command.wait()
        log = site.log()
        assert sum(one.path.startswith("/blue") for one in log) >= 4
        gaps = gaps_of(log)
        figures(f"smallest gap {min(gaps):.3f} s at {DELAY_S} s, a crawl beside fetch, suggest and dry-run")
        assert min(gaps) >= FLOOR_S
        crawl.kill()


def test_a_server_and_a_crawl_beside_it_share_the_gate_of_a_host(
    workshop: Workshop, figures: Figures
) -> None:
    routes = shelf_routes("red", 8) | shelf_routes("blue", 8)
    with written_site(workshop.folder, routes=routes) as site, served(workshop) as server:
        polite = {"delay_s": DELAY_S, "robots": "ignore", "adaptive": False}
        task = title_task(site.url("/blue"), name="blue", politeness=polite)
        run_id = server.begin(server.create(task))
        crawl = start(workshop, site, "red", delay_s=DELAY_S)
        server.ask("POST", "/api/tasks?dry_run=true&preview=true&pages=2", task).expect(200)
        assert crawl.wait().expect(0).json["pages"] == 9
        server.until_state(run_id, "completed")
        gaps = gaps_of(site.log())
        figures(f"{len(gaps) + 1} requests, smallest gap {min(gaps):.3f} s")
        assert min(gaps) >= FLOOR_S
        receipt = server.ask("GET", f"/api/runs/{run_id}/receipt").expect(200).json["hosts"][0]
        assert receipt["violations"] == 0


@pytest.mark.parametrize("setting", ["off", "own"])
def test_folders_have_gates_of_their_own_if_the_setting_says_so(workshop: Workshop, setting: str) -> None:
    routes = shelf_routes("red", 8) | shelf_routes("blue", 3)
    with written_site(workshop.folder, routes=routes) as site:
        start(workshop, site, "red", delay_s=30)
        until(lambda: started(site, "red", 1), "a request")
        workshop.write(title_task(site.url("/blue"), politeness={"robots": "ignore", "delay_s": 0.1}))
        folder = setting if setting == "off" else str(workshop.folder / "gates")
        finished = workshop.run("crawl", "task.json", env={"SMARTSPIDER_GATES_FOLDER": folder}).expect(0)
        assert "GATES_FOLDER" not in finished.err


def test_a_home_that_cannot_be_written_is_said_once(workshop: Workshop, tmp_path: Path) -> None:
    home = tmp_path / "locked"
    home.write_text("a file, which is no folder even for the administrator")
    home.chmod(stat.S_IRUSR)
    with written_site(workshop.folder, routes=shelf_routes("red", 3)) as site:
        workshop.write(title_task(site.url("/red")))
        arguments = ("crawl", "task.json", "--workers", "2", "--json")
        for environment in ({"HOME": str(home)}, {"HOME": "", "XDG_STATE_HOME": str(home / "state")}):
            finished = workshop.run(*arguments, "--fresh", env=environment).expect(0)
            assert finished.json["pages"] == 4
            assert finished.err.count("crawls in other folders are not seen") == 1
