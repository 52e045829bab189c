"""The promises of `interfaces/answer_store.py`, tested by their numbers."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.claims import Claim, working_on
from smartspider.core.errors import Conflict, Unanswered
from smartspider.interfaces.answer_store import KEPT_S, WORKED_ON_S, KeptAnswer, Made
from smartspider_testing.contracts.acts import plan_of
from smartspider_testing.contracts.ground import Ground, OnGround

ANSWER = KeptAnswer(201, {"location": "/api/tasks/1"}, b'{"id":"1"}')


async def claimed(ground: Ground, key: str = "k", actor: str = "ann", asked: bytes = b"a") -> Claim:
    """Somebody asks and works on it."""
    found = await ground.answers.claim(actor, key, asked)
    assert isinstance(found, Claim)
    return found


async def answered(ground: Ground, key: str = "k", actor: str = "ann", asked: bytes = b"a") -> None:
    """Somebody asks and is answered."""
    await ground.answers.keep(await claimed(ground, key, actor, asked), ANSWER)


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
        kinds = [type(one) for one in outcomes]
        assert (kinds.count(Unanswered), kinds.count(Claim)) == (3, 1)

    async def test_a_key_is_not_for_another_request(self, ground: Ground) -> None:
        """Answer store 1: neither while the first is worked on nor after it."""
        claim = await claimed(ground)
        with pytest.raises(Conflict, match="another request"):
            await ground.answers.claim("ann", "k", b"b")
        await ground.answers.keep(claim, ANSWER)
        with pytest.raises(Conflict, match="another request"):
            await ground.answers.claim("ann", "k", b"b")
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_actors_have_keys_of_their_own(self, ground: Ground) -> None:
        """Answer store 1."""
        await answered(ground)
        await claimed(ground, actor="bob", asked=b"b")

    async def test_what_was_given_up_can_be_worked_on_again(self, ground: Ground) -> None:
        """Answer store 2: also as another request."""
        await ground.answers.give_up(await claimed(ground))
        await answered(ground, asked=b"b")

    async def test_an_answer_is_not_given_up(self, ground: Ground) -> None:
        """Answer store 2: once it is kept it stays."""
        claim = await claimed(ground)
        await ground.answers.keep(claim, ANSWER)
        await ground.answers.give_up(claim)
        await ground.answers.keep(claim, KeptAnswer(500, {}, b""))
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_a_process_that_died_holds_a_key_for_seconds(self, ground: Ground) -> None:
        """Answer store 2."""
        await claimed(ground)
        await ground.reopen()
        await ground.clock.advance(WORKED_ON_S - 1)
        with pytest.raises(Unanswered, match="not answered yet"):
            await ground.answers.claim("ann", "k", b"a")
        await ground.clock.advance(1)
        await answered(ground)

    async def test_who_works_for_long_keeps_the_key_by_saying_so(self, ground: Ground) -> None:
        """Answer store 2: one that lost it cannot take it back."""
        first = await claimed(ground)
        for _ in range(3):
            await ground.clock.advance(WORKED_ON_S - 1)
            await ground.answers.renew(first)
        with pytest.raises(Unanswered):
            await ground.answers.claim("ann", "k", b"a")
        await ground.clock.advance(WORKED_ON_S)
        second = await claimed(ground)
        await ground.answers.renew(first)
        await ground.answers.give_up(first)
        await ground.answers.keep(first, KeptAnswer(500, {}, b""))
        await ground.answers.keep(second, ANSWER)
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_what_was_made_before_its_process_died_is_told(self, ground: Ground) -> None:
        """Answer store 4: as often as asked, and only to who asks for the same; an answer goes before it."""
        await ground.store.create_run(plan_of())  # and the task, of which it is the first
        claim = await claimed(ground)
        with working_on(claim):
            run = await ground.store.create_run(plan_of())
        with pytest.raises(Unanswered):
            await ground.answers.claim("ann", "k", b"a")
        await ground.reopen()
        await ground.clock.advance(WORKED_ON_S)
        for _ in range(2):
            assert await ground.answers.claim("ann", "k", b"a") == Made(f"run:{run.id}")
        with pytest.raises(Conflict, match="another request"):
            await ground.answers.claim("ann", "k", b"b")
        await ground.answers.keep(claim, ANSWER)
        assert await ground.answers.claim("ann", "k", b"a") == ANSWER

    async def test_what_was_made_is_not_given_up(self, ground: Ground) -> None:
        """Answer store 4: an error that comes after it leaves it made, and it is told at once."""
        await ground.store.create_run(plan_of())  # and the task, of which it is the first
        claim = await claimed(ground)
        with working_on(claim):
            run = await ground.store.create_run(plan_of())
        await ground.answers.give_up(claim)
        assert await ground.answers.claim("ann", "k", b"a") == Made(f"run:{run.id}")

    async def test_what_was_not_made_can_be_made_by_another(self, ground: Ground) -> None:
        """Answer store 4: a note in the audit makes nothing, nor does what was refused."""
        claim = await claimed(ground)
        run = await ground.store.create_run(plan_of())
        with working_on(claim):
            await ground.audit.append("ann", "thing.seen", "thing:1", {})
            with pytest.raises(Conflict):
                await ground.store.create_run(plan_of(), is_only=True)
        await ground.answers.give_up(claim)
        assert [one.id for one in await ground.store.find_runs()] == [run.id]
        await claimed(ground)

    async def test_who_lost_a_claim_makes_nothing(self, ground: Ground) -> None:
        """Answer store 5: neither while another works on it nor after that."""
        first = await claimed(ground)
        await ground.clock.advance(WORKED_ON_S)
        second = await claimed(ground)
        with working_on(first), pytest.raises(Conflict, match="meanwhile"):
            await ground.store.create_run(plan_of())
        with working_on(second):
            run = await ground.store.create_run(plan_of())
        await ground.answers.keep(second, ANSWER)
        for lost in (first, second):
            with working_on(lost), pytest.raises(Conflict, match="meanwhile"):
                await ground.store.create_run(plan_of())
        assert [one.id for one in await ground.store.find_runs()] == [run.id]

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
