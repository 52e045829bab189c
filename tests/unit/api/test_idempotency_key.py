"""Requests that are sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import aiohttp
import apsw
import pytest
from tests.unit.api.asking import ADMIN_TOKEN, Caller, serving

from smartspider.api.idempotency import POLL_S
from smartspider.api.limits import ApiLimits
from smartspider.backends.sqlite.database import FILE
from smartspider.core.errors import Conflict
from smartspider.core.idempotency import IdempotencyClaim
from smartspider.operations.operation import Operations, Replay, operation, operations_of
from smartspider.operations.services import Services
from smartspider.store.idempotency import IdempotencyStore, StoredResponse
from smartspider.views.access import TicketView

TASK = {"name": "shop", "entry_urls": ["https://shop.example/"]}
KEY = {"Idempotency-Key": "k1"}
CREATES: dict[str, Any] = {"needs": ("tasks", "write"), "summary": "Make", "answer": "It", "status": 201}


class DeadBeforeStoring(IdempotencyStore):
    """The store of a process that is killed before it keeps the answer."""

    async def store(self, claim: IdempotencyClaim, response: StoredResponse) -> None:
        pass


def use_store(services: Services, store: IdempotencyStore) -> None:
    vars(services.installation)["idempotency"] = store


async def test_the_second_request_gets_the_first_answer(api: Caller) -> None:
    first = (await api.post("/api/tasks", TASK, headers=KEY)).expect(201)
    second = (await api.post("/api/tasks", TASK, headers=KEY)).expect(201)
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert second.body == first.body
    for name in ("Location", "Etag", "Content-Type"):
        assert second.headers[name] == first.headers[name]
    assert len((await api.get("/api/tasks")).json["items"]) == 1
    (await api.post("/api/tasks", TASK)).expect(409)


async def test_a_key_with_another_request_is_refused(api: Caller) -> None:
    await api.post("/api/tasks", TASK, headers=KEY)
    for path, body in (("/api/tasks", TASK | {"name": "b"}), ("/api/tasks?note=x", TASK)):
        problem = (await api.post(path, body, headers=KEY)).expect(409)
        assert "another request" in problem.json["detail"]
    assert len((await api.get("/api/tasks")).json["items"]) == 1


async def test_an_error_is_not_kept(api: Caller) -> None:
    (await api.post("/api/tasks", TASK | {"x": 1}, headers=KEY)).expect(422)
    (await api.post("/api/tasks", TASK, headers=KEY)).expect(201)


async def test_of_many_at_once_one_is_done(api: Caller) -> None:
    answers = await asyncio.gather(*(api.post("/api/tasks", TASK, headers=KEY) for _ in range(8)))
    assert {one.status for one in answers} <= {201, 409}
    assert len({one.body for one in answers if one.status == 201}) == 1
    assert len((await api.get("/api/tasks")).json["items"]) == 1


@pytest.mark.parametrize("key", ["", "x" * 201])
async def test_a_key_is_neither_empty_nor_endless(api: Caller, key: str) -> None:
    (await api.post("/api/tasks", TASK, headers={"Idempotency-Key": key})).expect(422)


async def test_nobody_gets_an_answer_without_a_token(api: Caller) -> None:
    await api.post("/api/tasks", TASK, headers=KEY)
    (await api.with_token(None).post("/api/tasks", TASK, headers=KEY)).expect(401)


class Bench:
    """Operations that a test looks into."""

    def __init__(self) -> None:
        self.calls = 0
        self.has_begun, self.goes_on = asyncio.Event(), asyncio.Event()
        bench = self

        class BenchOperations(Operations):
            @operation("POST", "/api/bench/slow", **CREATES, replay=Replay())
            async def make_slowly(self) -> TicketView:
                bench.calls += 1
                bench.has_begun.set()
                await bench.goes_on.wait()
                return TicketView(self.principal.name, 1)

            @operation("POST", "/api/bench/secret", **CREATES, replay=Replay(is_secret=True))
            async def make_secret(self) -> TicketView:
                return TicketView("canary", 1)

            @operation("POST", "/api/bench/broken", **CREATES, replay=Replay())
            async def make_brokenly(self) -> TicketView:
                bench.calls += 1
                if bench.calls == 1:
                    raise RuntimeError("canary")
                return TicketView("", 1)

        self.operations = tuple(operations_of(BenchOperations))


@pytest.fixture
async def bench(services: Services, limits: ApiLimits) -> AsyncIterator[tuple[Bench, Caller]]:
    bench = Bench()
    async with serving(services, bench.operations, limits) as base, aiohttp.ClientSession() as session:
        yield bench, Caller(session, base, ADMIN_TOKEN)


@pytest.mark.parametrize("limits", [ApiLimits(replay_wait_s=0.0)])
async def test_a_request_that_is_worked_on_is_not_begun_again(bench: tuple[Bench, Caller]) -> None:
    made, api = bench
    first = asyncio.create_task(api.post("/api/bench/slow", headers=KEY))
    await made.has_begun.wait()
    problem = (await api.post("/api/bench/slow", headers=KEY)).expect(409)
    assert "still in progress" in problem.json["detail"]
    made.goes_on.set()
    (await first).expect(201)
    (await api.post("/api/bench/slow", headers=KEY)).expect(201)
    assert made.calls == 1


async def test_a_second_request_waits_for_the_answer_of_the_first(bench: tuple[Bench, Caller]) -> None:
    made, api = bench
    first = asyncio.create_task(api.post("/api/bench/slow", headers=KEY))
    await made.has_begun.wait()
    second = asyncio.create_task(api.post("/api/bench/slow", headers=KEY))
    await asyncio.wait([second], timeout=2 * POLL_S)
    assert not second.done()
    made.goes_on.set()
    (await first).expect(201)
    assert (await second).expect(201).headers["idempotency-replayed"] == "true"
    assert made.calls == 1


@pytest.mark.parametrize("limits", [ApiLimits(claim_renewal_s=0.02, replay_wait_s=0.6)])
async def test_who_works_for_long_keeps_the_request(bench: tuple[Bench, Caller], services: Services) -> None:
    made, api = bench
    use_store(services, IdempotencyStore(services.installation.database, claim_timeout_s=0.3))
    first = asyncio.create_task(api.post("/api/bench/slow", headers=KEY))
    await made.has_begun.wait()
    (await api.post("/api/bench/slow", headers=KEY)).expect(409)
    made.goes_on.set()
    (await first).expect(201)
    assert made.calls == 1


async def test_a_run_whose_answer_was_lost_is_told_and_not_made_again(
    api: Caller, services: Services
) -> None:
    """What the process that made it would have kept, it did not live to keep."""
    task_id = (await api.post("/api/tasks", TASK)).expect(201).json["id"]
    use_store(services, DeadBeforeStoring(services.installation.database, claim_timeout_s=0.0))
    started = (await api.post(f"/api/tasks/{task_id}/start?overlap=true", headers=KEY)).expect(202)
    again = (await api.post(f"/api/tasks/{task_id}/start?overlap=true", headers=KEY)).expect(202)
    assert again.json == started.json
    assert again.headers["Location"] == started.headers["Location"]
    assert again.headers["idempotency-replayed"] == "true"
    assert len((await api.get("/api/runs")).json["items"]) == 1


async def test_what_else_was_made_without_an_answer_is_named(api: Caller, services: Services) -> None:
    use_store(services, DeadBeforeStoring(services.installation.database, claim_timeout_s=0.0))
    made = (await api.post("/api/tasks", TASK, headers=KEY)).expect(201).json
    problem = (await api.post("/api/tasks", TASK, headers=KEY)).expect(409).json
    assert f"created task:{made['id']}" in problem["detail"]


async def test_an_answer_with_a_secret_is_not_kept(bench: tuple[Bench, Caller], services: Services) -> None:
    _, api = bench
    (await api.post("/api/bench/secret", headers=KEY)).expect(201)
    problem = (await api.post("/api/bench/secret", headers=KEY)).expect(409)
    assert b"canary" not in problem.body
    with pytest.raises(Conflict):  # the key is taken, and only its fingerprint is there
        await services.installation.idempotency.claim("admin", "k1", b"")
    with closing(apsw.Connection(str(services.installation.path / FILE))) as connection:
        kept = connection.execute("SELECT * FROM answer").fetchall()
    assert "canary" not in str(kept)


async def test_what_went_wrong_can_be_tried_again(
    bench: tuple[Bench, Caller], caplog: pytest.LogCaptureFixture
) -> None:
    """And what nobody expected is one line in the log, with a number that the problem has as well."""
    _, api = bench
    problem = (await api.post("/api/bench/broken", headers=KEY)).expect(500)
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert problem.json["code"] == "unexpected"
    assert b"canary" not in problem.body
    assert b"Traceback" not in problem.body
    (record,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert problem.json["correlation_id"] in record.getMessage()
    assert record.exc_info is not None
    (await api.post("/api/bench/broken", headers=KEY)).expect(201)
