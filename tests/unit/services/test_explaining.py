"""Why a URL was or was not fetched, in one sentence."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from smartspider.core.errors import TaskInvalid
from smartspider.core.plan import Plan
from smartspider.core.request import make_request
from smartspider.core.runs import Run
from smartspider.core.scope import Scope
from smartspider.core.traps import TrapGuards
from smartspider.core.urls import CanonicalRules
from smartspider.core.verdict import Close, Settlement
from smartspider.services.explain import explain
from smartspider.testing.clock import ManualClock
from smartspider.testing.contracts.acts import HOST, closed, done, failed, landed, plan_of, settle, take, url
from smartspider.testing.sqlite import SqliteGround


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteGround]:
    ground = SqliteGround(tmp_path / "data", ManualClock())
    yield ground
    await ground.close()


PATHS = ("done", "gone", "robots", "dead", "broken", "late", "moved", "away", "held", "fresh")
PLAN: Plan = msgspec.structs.replace(
    plan_of(*PATHS),
    scope=Scope(hosts=frozenset({HOST}), deny=("/admin",)),
    traps=TrapGuards(max_url_length=60),
    canonical=CanonicalRules(frozenset({"sid"})),
)


@pytest.fixture
async def run(ground: SqliteGround) -> Run:
    """A run with a row in every state."""
    run = await ground.store.create_run(PLAN)
    await ground.store.set_state(run.id, "running")
    worker = await ground.frontier.join("worker-1")
    leases = {lease.request.url.rpartition("/")[2]: lease for lease in await take(ground, worker, run)}
    away = make_request("http://o.example/")
    await settle(
        ground,
        done(leases["done"], items=[{"a": 1}, {"a": 2}]),
        closed(leases["gone"], "missing", "http 404"),
        closed(leases["robots"], "skipped", "robots: Disallow: /robots"),
        closed(leases["dead"], "dead", "timeout: slow (4 attempts)"),
        closed(leases["broken"], "broken", "not_readable: binary"),
        failed(leases["late"], delay_s=30.0),
        landed(leases["moved"], url("there")),
        Settlement(leases["away"], Close("redirect", f"to {away.url}", 301, children=[away])),
    )
    await ground.frontier.release([leases["fresh"]])
    return await ground.store.get_run(run.id)


async def verdict(ground: SqliteGround, run: Run, path: str, robots: str | None = None) -> str:
    address = path if "//" in path else f"http://{HOST}/{path}"
    return (await explain(ground.store, run, PLAN, address, robots)).verdict


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("done", "fetched and stored, status 200, 2 items"),
        ("gone", "the server has no such page (http 404)"),
        ("robots", "not fetched: robots: Disallow: /robots"),
        ("dead", "given up: timeout: slow (4 attempts)"),
        ("broken", "fetched, but not readable: not_readable: binary"),
        ("moved", f"redirected to http://{HOST}/there"),
        ("there", "fetched and stored, status 200, 0 items"),
        ("away", "redirected to http://o.example/"),
        ("held", "not fetched yet: leased by worker-1"),
        ("fresh", "not fetched yet: queued"),
        ("done?utm_source=mail&sid=4#top", "fetched and stored, status 200, 2 items"),
    ],
)
async def test_a_known_url_is_explained_by_its_row(
    ground: SqliteGround, run: Run, path: str, sentence: str
) -> None:
    assert await verdict(ground, run, path) == sentence


async def test_a_url_that_waits_says_until_when(ground: SqliteGround, run: Run) -> None:
    sentence = await verdict(ground, run, "late")
    assert re.fullmatch(r"not fetched yet: waiting until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", sentence), (
        sentence
    )


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("http://x.example/", "would not be fetched: scope: host x.example is not in the task's scope"),
        ("admin/users", "would not be fetched: scope: deny pattern '/admin' matches"),
        ("x" * 60, "would not be fetched: trap: the URL is longer than 60 characters"),
        ("nowhere", "not found so far: no page fetched yet links to it by a rule of the task"),
    ],
)
async def test_an_unknown_url_is_explained_by_the_rule_that_keeps_it_out(
    ground: SqliteGround, run: Run, path: str, sentence: str
) -> None:
    assert await verdict(ground, run, path) == sentence


async def test_a_line_of_robots_that_forbids_is_quoted(ground: SqliteGround, run: Run) -> None:
    assert await verdict(ground, run, "secret", "Disallow: /secret") == (
        "would not be fetched: robots.txt says 'Disallow: /secret'"
    )


async def test_in_a_run_that_is_over_an_unknown_url_was_never_found(ground: SqliteGround, run: Run) -> None:
    over = await ground.store.set_state(run.id, "cancelled")
    assert await verdict(ground, over, "nowhere") == (
        "never found: no page of the run links to it by a rule of the task"
    )


async def test_an_explanation_names_what_was_looked_up(ground: SqliteGround, run: Run) -> None:
    explanation = await explain(ground.store, run, PLAN, f"HTTP://{HOST}:80/done?sid=1#x")
    assert explanation.url == f"http://{HOST}/done?sid=1"
    assert explanation.canonical == f"http://{HOST}/done"
    assert explanation.fingerprint == url("done").fingerprint.hex()
    assert explanation.run_id == str(run.id)
    assert explanation.record is not None
    assert explanation.record.state == "done"


async def test_what_is_no_url_is_a_usage_error(ground: SqliteGround, run: Run) -> None:
    with pytest.raises(TaskInvalid, match="is not an http or https URL"):
        await explain(ground.store, run, PLAN, "example.com/x")
