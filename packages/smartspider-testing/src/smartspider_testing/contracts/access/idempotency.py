"""The contract of `store/idempotency.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import Conflict, RequestInProgress
from smartspider.core.idempotency import IdempotencyClaim, claim_context
from smartspider.store.idempotency import CLAIM_TIMEOUT_S, RESPONSE_TTL_S, LostResponse, StoredResponse
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.contracts.backend import Backend, BackendContract

ANSWER = StoredResponse(201, {"location": "/api/tasks/1"}, b'{"id":"1"}')


async def claimed(
    backend: Backend, key: str = "k", actor: str = "ann", asked: bytes = b"a"
) -> IdempotencyClaim:
    """Claim an idempotency key."""
    found = await backend.answers.claim(actor, key, asked)
    assert isinstance(found, IdempotencyClaim)
    return found


async def answered(backend: Backend, key: str = "k", actor: str = "ann", asked: bytes = b"a") -> None:
    """Claim an idempotency key and store the answer."""
    await backend.answers.store(await claimed(backend, key, actor, asked), ANSWER)


class IdempotencyStoreContract(BackendContract):
    """Repeating a request with the same key is safe."""

    async def test_the_same_request_gets_the_same_answer(self, backend: Backend) -> None:
        """IdempotencyStore 1."""
        await answered(backend)
        await backend.reopen()
        assert await backend.answers.claim("ann", "k", b"a") == ANSWER
        assert await backend.answers.claim("ann", "k", b"a") == ANSWER

    async def test_of_requests_at_the_same_time_one_is_worked_on(self, backend: Backend) -> None:
        """IdempotencyStore 1: in this process and in another."""
        other = await backend.another()
        claims = [place.answers.claim("ann", "k", b"a") for place in (backend, other, backend, other)]
        outcomes = await asyncio.gather(*claims, return_exceptions=True)
        kinds = [type(one) for one in outcomes]
        assert (kinds.count(RequestInProgress), kinds.count(IdempotencyClaim)) == (3, 1)

    async def test_a_key_is_not_for_another_request(self, backend: Backend) -> None:
        """IdempotencyStore 1: neither while the first is worked on nor after it."""
        claim = await claimed(backend)
        with pytest.raises(Conflict, match="another request"):
            await backend.answers.claim("ann", "k", b"b")
        await backend.answers.store(claim, ANSWER)
        with pytest.raises(Conflict, match="another request"):
            await backend.answers.claim("ann", "k", b"b")
        assert await backend.answers.claim("ann", "k", b"a") == ANSWER

    async def test_actors_have_keys_of_their_own(self, backend: Backend) -> None:
        """IdempotencyStore 1."""
        await answered(backend)
        await claimed(backend, actor="bob", asked=b"b")

    async def test_what_was_given_up_can_be_worked_on_again(self, backend: Backend) -> None:
        """IdempotencyStore 2: also as another request."""
        await backend.answers.abandon(await claimed(backend))
        await answered(backend, asked=b"b")

    async def test_an_answer_is_not_given_up(self, backend: Backend) -> None:
        """IdempotencyStore 2: once it is kept it stays."""
        claim = await claimed(backend)
        await backend.answers.store(claim, ANSWER)
        await backend.answers.abandon(claim)
        await backend.answers.store(claim, StoredResponse(500, {}, b""))
        assert await backend.answers.claim("ann", "k", b"a") == ANSWER

    async def test_a_process_that_died_holds_a_key_for_seconds(self, backend: Backend) -> None:
        """IdempotencyStore 2."""
        await claimed(backend)
        await backend.reopen()
        await backend.clock.advance(CLAIM_TIMEOUT_S - 1)
        with pytest.raises(RequestInProgress):
            await backend.answers.claim("ann", "k", b"a")
        await backend.clock.advance(1)
        await answered(backend)

    async def test_who_works_for_long_keeps_the_key_by_saying_so(self, backend: Backend) -> None:
        """IdempotencyStore 2: one that lost it cannot take it back."""
        first = await claimed(backend)
        for _ in range(3):
            await backend.clock.advance(CLAIM_TIMEOUT_S - 1)
            await backend.answers.renew(first)
        with pytest.raises(RequestInProgress):
            await backend.answers.claim("ann", "k", b"a")
        await backend.clock.advance(CLAIM_TIMEOUT_S)
        second = await claimed(backend)
        await backend.answers.renew(first)
        await backend.answers.abandon(first)
        await backend.answers.store(first, StoredResponse(500, {}, b""))
        await backend.answers.store(second, ANSWER)
        assert await backend.answers.claim("ann", "k", b"a") == ANSWER

    async def test_what_was_made_before_its_process_died_is_told(self, backend: Backend) -> None:
        """IdempotencyStore 4: repeatedly, only for the same request; a stored answer takes precedence."""
        await backend.store.create_run(plan_of())  # also creates the task, for its first run
        claim = await claimed(backend)
        with claim_context(claim):
            run = await backend.store.create_run(plan_of())
        with pytest.raises(RequestInProgress):
            await backend.answers.claim("ann", "k", b"a")
        await backend.reopen()
        await backend.clock.advance(CLAIM_TIMEOUT_S)
        for _ in range(2):
            assert await backend.answers.claim("ann", "k", b"a") == LostResponse(f"run:{run.id}")
        with pytest.raises(Conflict, match="another request"):
            await backend.answers.claim("ann", "k", b"b")
        await backend.answers.store(claim, ANSWER)
        assert await backend.answers.claim("ann", "k", b"a") == ANSWER

    async def test_what_was_made_is_not_given_up(self, backend: Backend) -> None:
        """IdempotencyStore 4: an error after the write leaves it in place, and it is reported at once."""
        await backend.store.create_run(plan_of())  # also creates the task, for its first run
        claim = await claimed(backend)
        with claim_context(claim):
            run = await backend.store.create_run(plan_of())
        await backend.answers.abandon(claim)
        assert await backend.answers.claim("ann", "k", b"a") == LostResponse(f"run:{run.id}")

    async def test_what_was_not_made_can_be_made_by_another(self, backend: Backend) -> None:
        """IdempotencyStore 4: a note in the audit makes nothing, nor does what was refused."""
        claim = await claimed(backend)
        run = await backend.store.create_run(plan_of())
        with claim_context(claim):
            await backend.audit.append("ann", "thing.seen", "thing:1", {})
            with pytest.raises(Conflict):
                await backend.store.create_run(plan_of(), is_only=True)
        await backend.answers.abandon(claim)
        assert [one.id for one in await backend.store.find_runs()] == [run.id]
        await claimed(backend)

    async def test_who_lost_a_claim_makes_nothing(self, backend: Backend) -> None:
        """IdempotencyStore 5: neither while another works on it nor after that."""
        first = await claimed(backend)
        await backend.clock.advance(CLAIM_TIMEOUT_S)
        second = await claimed(backend)
        with claim_context(first), pytest.raises(Conflict, match="meanwhile"):
            await backend.store.create_run(plan_of())
        with claim_context(second):
            run = await backend.store.create_run(plan_of())
        await backend.answers.store(second, ANSWER)
        for lost in (first, second):
            with claim_context(lost), pytest.raises(Conflict, match="meanwhile"):
                await backend.store.create_run(plan_of())
        assert [one.id for one in await backend.store.find_runs()] == [run.id]

    async def test_answers_are_kept_for_a_day(self, backend: Backend) -> None:
        """IdempotencyStore 3: and then forgotten, swept or not."""
        await answered(backend, "old")
        await backend.clock.advance(RESPONSE_TTL_S - 1)
        await answered(backend, "new")
        assert await backend.answers.sweep() == 0
        assert await backend.answers.claim("ann", "old", b"a") == ANSWER
        await backend.clock.advance(2)
        assert await backend.answers.sweep() == 1
        assert await backend.answers.sweep() == 0
        await answered(backend, "old", asked=b"b")
        assert await backend.answers.claim("ann", "new", b"a") == ANSWER

    async def test_an_answer_that_was_not_swept_is_old_all_the_same(self, backend: Backend) -> None:
        """IdempotencyStore 3."""
        await answered(backend)
        await backend.clock.advance(RESPONSE_TTL_S)
        await answered(backend, asked=b"b")
