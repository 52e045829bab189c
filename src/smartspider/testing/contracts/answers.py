"""The promises of `interfaces/answer_store.py`, tested by their numbers."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import Conflict
from smartspider.interfaces.answer_store import KEPT_S, WORKED_ON_S, KeptAnswer
from smartspider.testing.contracts.ground import Ground, OnGround

ANSWER = KeptAnswer(201, {"location": "/api/tasks/1"}, b'{"id":"1"}')


async def answered(ground: Ground, key: str = "k", actor: str = "ann", asked: bytes = b"a") -> None:
    """Somebody asks and is answered."""
    assert await ground.answers.claim(actor, key, asked) is None
    await ground.answers.keep(actor, key, ANSWER)


class AnswerStoreContract(OnGround):
    """An answer store makes requests safe to send twice."""

    async def test_the_same_request_gets_the_same_answer(self, ground: Ground) -> None:
        """Answer store 1."""
        await answered(ground)
        await ground.reopen()
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_of_requests_at_the_same_time_one_is_worked_on(self, ground: Ground) -> None:
        """Answer store 1: in this process and in another."""
        other = await ground.another()
        claims = [place.answers.claim("ann", "k", b"a") for place in (ground, other, ground, other)]
        outcomes = await asyncio.gather(*claims, return_exceptions=True)
        assert [type(one) for one in outcomes].count(Conflict) == 3
        assert outcomes.count(None) == 1

    async def test_a_key_is_not_for_another_request(self, ground: Ground) -> None:
        """Answer store 1: neither while the first is worked on nor after it."""
        await ground.answers.claim("ann", "k", b"a")
        with pytest.raises(Conflict, match="another request"):
            await ground.answers.claim("ann", "k", b"b")
        await ground.answers.keep("ann", "k", ANSWER)
        with pytest.raises(Conflict, match="another request"):
            await ground.answers.claim("ann", "k", b"b")
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_actors_have_keys_of_their_own(self, ground: Ground) -> None:
        """Answer store 1."""
        await answered(ground)
        assert await ground.answers.claim("bob", "k", b"b") is None

    async def test_what_was_given_up_can_be_worked_on_again(self, ground: Ground) -> None:
        """Answer store 2: also as another request."""
        await ground.answers.claim("ann", "k", b"a")
        await ground.answers.give_up("ann", "k")
        await answered(ground, asked=b"b")

    async def test_an_answer_is_not_given_up(self, ground: Ground) -> None:
        """Answer store 2: once it is kept it stays."""
        await answered(ground)
        await ground.answers.give_up("ann", "k")
        await ground.answers.keep("ann", "k", KeptAnswer(500, {}, b""))
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_a_process_that_died_holds_a_key_for_a_minute(self, ground: Ground) -> None:
        """Answer store 2."""
        await ground.answers.claim("ann", "k", b"a")
        await ground.reopen()
        await ground.clock.advance(WORKED_ON_S - 1)
        with pytest.raises(Conflict, match="not answered yet"):
            await ground.answers.claim("ann", "k", b"a")
        await ground.clock.advance(1)
        await answered(ground)

    async def test_answers_are_kept_for_a_day(self, ground: Ground) -> None:
        """Answer store 3: and then forgotten, swept or not."""
        await answered(ground, "old")
        await ground.clock.advance(KEPT_S - 1)
        await answered(ground, "new")
        assert await ground.answers.sweep() == 0
        assert await ground.answers.claim("ann", "old", b"a") == ANSWER
        await ground.clock.advance(2)
        assert await ground.answers.sweep() == 1
        assert await ground.answers.sweep() == 0
        await answered(ground, "old", asked=b"b")
        assert await ground.answers.claim("ann", "new", b"a") == ANSWER

    async def test_an_answer_that_was_not_swept_is_old_all_the_same(self, ground: Ground) -> None:
        """Answer store 3."""
        await answered(ground)
        await ground.clock.advance(KEPT_S)
        await answered(ground, asked=b"b")
