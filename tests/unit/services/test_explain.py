"""Why a URL was or was not fetched, in one sentence."""

from __future__ import annotations

import re

import msgspec
import pytest

from smartspider.core.errors import RequestInvalid
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.requests.refusal import LeftOutLink, Refusal
from smartspider.core.requests.request import Extras, make_request
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.requests.urls import CanonicalRules
from smartspider.core.runs.plan import FetchPlan, Plan
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.services.explain import dropped_params, explain
from smartspider.views.explain import DroppedParam, RobotsView, UsedProxyView
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import (
    HOST,
    closed,
    done,
    failed,
    landed,
    plan_of,
    settle,
    take,
    url,
)

PATHS = ("done", "gone", "robots", "dead", "broken", "late", "moved", "away", "held", "fresh")
PLAN: Plan = msgspec.structs.replace(
    plan_of(*PATHS),
    scope=UrlScope(hosts=frozenset({HOST}), deny=("/admin",)),
    traps=TrapGuards(max_url_length=60),
    canonical=CanonicalRules(frozenset({"sid"})),
)


@pytest.fixture
async def run(backend: SqliteBackend) -> Run:
    """A run with a row in every state."""
    run = await backend.store.create_run(PLAN)
    await backend.store.set_state(run.id, "running")
    worker = await backend.frontier.join(WorkerRegistration("worker-1"))
    leases = {lease.request.url.rpartition("/")[2]: lease for lease in await take(backend, worker, run)}
    away = make_request("http://o.example/")
    await settle(
        backend,
        done(leases["done"], items=[{"a": 1}, {"a": 2}]),
        closed(leases["gone"], "missing", "http 404"),
        closed(leases["robots"], "skipped", "robots: Disallow: /robots"),
        closed(leases["dead"], "dead", "timeout: slow (4 attempts)"),
        closed(leases["broken"], "broken", "not_readable: binary"),
        failed(leases["late"], delay_s=30.0),
        landed(leases["moved"], url("there")),
        Settlement(leases["away"], Close("redirect", f"to {away.url}", 301, children=[away])),
    )
    await backend.frontier.release([leases["fresh"]])
    return await backend.store.get_run(run.id)


async def verdict(backend: SqliteBackend, run: Run, path: str, robots: str | None = None) -> str:
    address = path if "//" in path else f"http://{HOST}/{path}"
    says = RobotsView(is_obeyed=True, is_allowed=robots is None, line=robots, status=200, fetched_at=None)
    return (await explain(backend.insight, run, PLAN, address, says)).verdict


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("done", "fetched and stored, status 200, 2 items"),
        ("gone", "the page does not exist (http 404)"),
        ("robots", "not fetched: robots: Disallow: /robots"),
        ("dead", "failed: timeout: slow (4 attempts)"),
        ("broken", "fetched, but not extracted: not_readable: binary"),
        ("moved", f"redirected to http://{HOST}/there"),
        ("there", "fetched and stored, status 200, 0 items"),
        ("away", "redirected to http://o.example/"),
        ("held", "not fetched yet: leased by worker-1"),
        ("fresh", "not fetched yet: queued"),
        ("done?utm_source=mail&sid=4#top", "fetched and stored, status 200, 2 items"),
    ],
)
async def test_a_known_url_is_explained_by_its_row(
    backend: SqliteBackend, run: Run, path: str, sentence: str
) -> None:
    assert await verdict(backend, run, path) == sentence


async def test_a_link_that_was_refused_names_the_rule_and_its_page(backend: SqliteBackend, run: Run) -> None:
    held = next(lease for lease in await held_leases(backend, run))
    refusals = {
        "private": Refusal("robots", "robots.txt disallows it"),
        "deep": Refusal("depth", "limit: depth 3 is too deep"),
        "next": Refusal("nofollow", "nofollow: the page says so"),
    }
    links = [
        LeftOutLink(url(path).fingerprint, url(path).url, refusal, path == "next")
        for path, refusal in refusals.items()
    ]
    await settle(backend, Settlement(held, Close("done", left_out=links)))
    page = f"linked from {held.request.url}"
    assert await verdict(backend, run, "deep") == f"not followed: limit: depth 3 is too deep; {page}"
    assert (
        await verdict(backend, run, "next") == f"next page not followed: nofollow: the page says so; {page}"
    )
    line = "Disallow: /private"
    assert await verdict(backend, run, "private", line) == f"not followed: robots.txt says {line!r}; {page}"
    found = await explain(backend.insight, run, PLAN, url("deep").url)
    assert found.left_out is not None
    assert (found.left_out.reason, found.left_out.parent, found.record) == ("depth", held.request.url, None)


async def test_beyond_the_links_that_are_stored_nothing_is_said_for_sure(
    backend: SqliteBackend, run: Run
) -> None:
    held = next(lease for lease in await held_leases(backend, run))
    await settle(backend, Settlement(held, Close("done", links_dropped=1)))
    run = msgspec.structs.replace(run, state="completed")
    assert "never found" not in await verdict(backend, run, "unknown")


async def held_leases(backend: SqliteBackend, run: Run) -> list[Lease]:
    """Return the leases of a worker among the released requests."""
    return await take(backend, await backend.frontier.join(WorkerRegistration("worker-2")), run)


async def test_a_url_that_waits_says_until_when(backend: SqliteBackend, run: Run) -> None:
    sentence = await verdict(backend, run, "late")
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
    backend: SqliteBackend, run: Run, path: str, sentence: str
) -> None:
    assert await verdict(backend, run, path) == sentence


async def test_a_line_of_robots_that_forbids_is_quoted(backend: SqliteBackend, run: Run) -> None:
    assert await verdict(backend, run, "secret", "Disallow: /secret") == (
        "would not be fetched: robots.txt says 'Disallow: /secret'"
    )


async def test_in_a_run_that_is_over_an_unknown_url_was_never_found(backend: SqliteBackend, run: Run) -> None:
    over = await backend.store.set_state(run.id, "cancelled")
    assert await verdict(backend, over, "nowhere") == (
        "never found: no page of the run links to it by a rule of the task"
    )


async def test_an_explanation_names_what_was_looked_up(backend: SqliteBackend, run: Run) -> None:
    explanation = await explain(backend.insight, run, PLAN, f"HTTP://{HOST}:80/done?sid=1#x")
    assert explanation.url == f"http://{HOST}/done?sid=1"
    assert explanation.canonical == f"http://{HOST}/done"
    assert explanation.fingerprint == url("done").fingerprint.hex()
    assert explanation.run_id == str(run.id)
    assert explanation.record is not None
    assert explanation.record.state == "done"


async def test_what_is_no_url_is_a_usage_error(backend: SqliteBackend, run: Run) -> None:
    with pytest.raises(RequestInvalid, match="is not an http or https URL"):
        await explain(backend.insight, run, PLAN, "example.com/x")


async def test_what_was_dropped_before_comparing_is_named_with_its_rule(
    backend: SqliteBackend, run: Run
) -> None:
    address = f"http://{HOST}/done?b=1&utm_source=x&sid=4&utm_source=y&gclid"
    assert dropped_params(address, PLAN.canonical) == [
        DroppedParam("utm_source", "tracking"),
        DroppedParam("sid", "dedup.ignore_params"),
        DroppedParam("gclid", "tracking"),
    ]
    dedup = (await explain(backend.insight, run, PLAN, f"http://{HOST}/done?sid=4")).dedup
    assert (dedup.is_known, dedup.known_as) == (True, f"http://{HOST}/done")


async def test_what_is_known_around_a_request_is_told(backend: SqliteBackend, run: Run) -> None:
    explanation = await explain(backend.insight, run, PLAN, f"http://{HOST}/done")
    assert explanation.record is not None
    assert [bytes(example) for example in explanation.record.examples] == [b'{"a":1}', b'{"a":2}']
    assert explanation.record.is_entry
    assert explanation.scope.is_inside
    assert explanation.gate is not None
    assert (explanation.gate.host, explanation.gate.in_flight, explanation.gate.per_host) == (HOST, 1, 64)
    held = (await explain(backend.insight, run, PLAN, f"http://{HOST}/held")).record
    assert held is not None
    assert held.lease is not None
    assert held.lease.worker == "worker-1"
    late = (await explain(backend.insight, run, PLAN, f"http://{HOST}/late")).record
    assert late is not None
    assert late.due_at is not None
    assert [failure.reason for failure in late.failures] == ["timeout"]


async def test_the_proxies_of_a_pool_that_a_request_went_through_are_named(
    backend: SqliteBackend, run: Run
) -> None:
    worker = await backend.frontier.join(WorkerRegistration("worker-2"))
    (fresh,) = [one for one in await take(backend, worker, run) if one.request.url.endswith("/fresh")]
    await settle(backend, failed(fresh, delay_s=0.0, proxy_id=3, cookies_id=7))
    (again,) = await take(backend, worker, run)
    await settle(backend, done(again, proxy_id=4))
    plan = msgspec.structs.replace(PLAN, fetch=FetchPlan(proxy_pool="dc"))
    proxies = {("dc", 4): "http://b.example:80", ("other", 3): "http://a.example:80"}
    told = (await explain(backend.insight, run, plan, f"http://{HOST}/fresh", proxies=proxies)).record
    assert told is not None
    assert told.proxy == UsedProxyView("4", "http://b.example:80")
    assert [failure.proxy for failure in told.failures] == [UsedProxyView("3", None)]
    assert [failure.cookies for failure in told.failures] == ["7"]


async def test_a_request_with_a_body_is_found_by_its_url(backend: SqliteBackend) -> None:
    first, second = (
        make_request(f"http://{HOST}/api", extras=Extras(method="POST", body=body)) for body in (b"1", b"22")
    )
    run = await backend.store.create_run(plan_of(first, second))
    explanation = await explain(backend.insight, run, PLAN, f"http://{HOST}/api")
    assert explanation.verdict == "not fetched yet: queued"
    assert explanation.record is not None
    found = [explanation.record, *explanation.others]
    assert sorted((one.method, one.body_bytes) for one in found) == [("POST", 1), ("POST", 2)]
    assert {one.fingerprint for one in found} == {first.fingerprint.hex(), second.fingerprint.hex()}


def test_a_session_id_that_the_canonical_form_drops_is_named() -> None:
    dropped = dropped_params("http://h/?jsessionid=1&sid=1&q=x", CanonicalRules())
    assert dropped == [DroppedParam("jsessionid", "session id")]
    token = dropped_params("http://h/?sid=0123456789abcdef", CanonicalRules())
    assert token == [DroppedParam("sid", "session id")]
