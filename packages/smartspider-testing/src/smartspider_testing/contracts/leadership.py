"""The promises of `interfaces/leadership.py`, tested by their numbers."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import TermOver
from smartspider_testing.contracts.ground import Ground, OnGround


class LeadershipContract(OnGround):
    """One leads, and everybody knows which term is the newest."""

    async def test_one_of_several_leads(self, ground: Ground) -> None:
        """Leadership 1: also when they come at the same time, from several processes."""
        others = [ground, await ground.another(), await ground.another()]
        terms = await asyncio.gather(
            *(each.leadership.take(f"keeper {n}", 10.0) for n, each in enumerate(others))
        )
        (leading,) = [term for term in terms if term is not None]
        assert [await each.leadership.current() for each in others] == [leading] * 3

    async def test_nobody_leads_at_first(self, ground: Ground) -> None:
        """Leadership 1."""
        assert await ground.leadership.current() is None

    async def test_prolonging_keeps_the_epoch_and_taking_over_raises_it(self, ground: Ground) -> None:
        """Leadership 2."""
        first = await ground.leadership.take("one", 10.0)
        await ground.clock.advance(6.0)
        again = await ground.leadership.take("one", 10.0)
        await ground.clock.advance(6.0)
        assert await ground.leadership.take("two", 10.0) is None
        await ground.clock.advance(5.0)
        other = await ground.leadership.take("two", 10.0)
        assert first is not None
        assert again is not None
        assert other is not None
        assert (first.epoch, again.epoch, other.epoch) == (1, 1, 2)
        assert again.until == first.until + 6.0
        assert (await ground.leadership.current()) == other

    async def test_a_term_that_is_over_begins_anew_even_for_its_owner(self, ground: Ground) -> None:
        """Leadership 2, 3: between, anybody may have led."""
        first = await ground.leadership.take("one", 10.0)
        await ground.clock.advance(10.0)
        assert await ground.leadership.current() is None
        second = await ground.leadership.take("one", 10.0)
        assert first is not None
        assert second is not None
        assert second.epoch == first.epoch + 1

    async def test_who_resigns_is_followed_at_once(self, ground: Ground) -> None:
        """Leadership 3; and nobody can resign for another."""
        await ground.leadership.take("one", 10.0)
        await ground.leadership.resign("two")
        assert await ground.leadership.take("two", 10.0) is None
        await ground.leadership.resign("one")
        assert await ground.leadership.current() is None
        term = await ground.leadership.take("two", 10.0)
        assert term is not None
        assert term.epoch == 2

    async def test_when_the_last_term_ended_is_known(self, ground: Ground) -> None:
        """Leadership 5."""
        assert (await ground.leadership.newest()).epoch == 0
        term = await ground.leadership.take("one", 10.0)
        assert await ground.leadership.newest() == term
        await ground.clock.advance(4.0)
        await ground.leadership.resign("one")
        given_up = await ground.leadership.newest()
        assert term is not None
        assert (given_up.owner, given_up.epoch) == ("", term.epoch)
        assert given_up.until == pytest.approx(term.until - 6.0, abs=0.5)
        again = await ground.leadership.take("two", 10.0)
        await ground.clock.advance(100.0)
        assert await ground.leadership.newest() == again

    async def test_an_old_epoch_is_refused(self, ground: Ground) -> None:
        """Leadership 4: also when nobody leads."""
        await ground.leadership.take("one", 10.0)
        await ground.leadership.check(1)
        await ground.clock.advance(20.0)
        await ground.leadership.check(1)
        await ground.leadership.take("two", 10.0)
        for epoch in (0, 1, 3):
            with pytest.raises(TermOver):
                await ground.leadership.check(epoch)
        await ground.leadership.resign("two")
        with pytest.raises(TermOver):
            await ground.leadership.check(1)
