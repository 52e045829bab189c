"""Why a URL was or was not fetched, and why a run does not move, over REST."""

from __future__ import annotations

from urllib.parse import quote

from tests.unit.api.asking import Caller
from tests.unit.api.test_runs_route import ENTRY, begin, create, start

from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.operations.services import Services
from smartspider_testing.contracts.actions import done


async def explain(api: Caller, url: str, run_id: str = "") -> dict[str, object]:
    query = f"url={quote(url, safe='')}" + (f"&run_id={run_id}" if run_id else "")
    answer: dict[str, object] = (await api.get(f"/api/explain?{query}")).expect(200).json
    return answer


async def test_a_url_is_explained_in_the_newest_run_or_in_the_one_named(
    api: Caller, services: Services
) -> None:
    task_id = await create(api)
    old = await start(api, task_id)
    worker = await begin(services, old)
    (lease,) = (await services.installation.frontier.lease(worker, 1, [int(old)])).leases
    await services.installation.ledger.settle([done(lease, items=[{"title": "tea"}])])
    new = await start(api, task_id, params={"overlap": "true"})
    assert (await explain(api, ENTRY))["run_id"] == new
    told = await explain(api, f"{ENTRY}?utm_source=x", old)
    assert told["verdict"] == "fetched and stored, status 200, 1 item"
    assert told["dedup"]["dropped_params"] == [{"name": "utm_source", "rule": "tracking"}]  # type: ignore[index]
    assert told["record"]["examples"] == [{"title": "tea"}]  # type: ignore[index]
    assert told["gate"]["host"] == "127.0.0.1"  # type: ignore[index]


async def test_the_line_of_robots_that_decides_is_told(api: Caller, services: Services) -> None:
    await start(api, await create(api))
    body = b"User-agent: *\nDisallow: /secret"
    answer = RobotsAnswer("http://127.0.0.1:1", 200, body, 1.0, 2.0)
    await services.installation.store.put_robots(answer, host="127.0.0.1", crawl_delay_s=None)
    told = await explain(api, "http://127.0.0.1:1/secret/x")
    assert told["verdict"] == "would not be fetched: robots.txt says 'Disallow: /secret'"
    robots = {"is_obeyed": True, "is_allowed": False, "line": "Disallow: /secret", "status": 200}
    assert told["robots"] == {**robots, "fetched_at": "1970-01-01T00:00:01.000Z"}
    assert (await explain(api, "http://elsewhere.example/"))["scope"]["is_inside"] is False  # type: ignore[index]


async def test_a_question_that_means_nothing_is_refused(api: Caller) -> None:
    (await api.get("/api/explain?url=http://a.example/")).expect(404)
    await start(api, await create(api))
    (await api.get("/api/explain")).expect(422)
    (await api.get("/api/explain?url=example.com")).expect(422)
    (await api.get("/api/explain?url=http://a.example/&run_id=99")).expect(404)
    (await api.get(f"/api/explain?url=http://a.example/{'x' * 9000}")).expect(422)


async def test_a_run_without_workers_says_so(api: Caller, services: Services) -> None:
    run_id = await start(api, await create(api))
    told = (await api.get(f"/api/runs/{run_id}/explain-stall")).expect(200).json
    assert (told["moving"], told["state"], told["causes"][0]["code"]) == (False, "queued", "no_worker")
    assert told["causes"][0]["try"]
    await begin(services, run_id)
    await services.installation.frontier.hold_host("127.0.0.1", 60.0, "Retry-After")
    told = (await api.get(f"/api/runs/{run_id}/explain-stall")).expect(200).json
    (cause,) = told["causes"]
    assert (told["moving"], cause["code"], cause["hosts"]) == (False, "host_held", ["127.0.0.1"])
    assert cause["until"].endswith("Z")
