"""The contract of `interfaces/leadership.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import LeadershipLost
from smartspider_testing.contracts.backend import Backend, BackendContract


class LeadershipContract(BackendContract):
    """At most one process leads, and every process knows the newest epoch."""

    async def test_one_of_several_leads(self, backend: Backend) -> None:
        """Leadership 1: also when they come at the same time, from several processes."""
        others = [backend, await backend.another(), await backend.another()]
        terms = await asyncio.gather(
            *(each.leadership.take(f"keeper {n}", 10.0) for n, each in enumerate(others))
        )
        (leading,) = [term for term in terms if term is not None]
        assert [await each.leadership.current() for each in others] == [leading] * 3

    async def test_nobody_leads_at_first(self, backend: Backend) -> None:
        """Leadership 1."""
        assert await backend.leadership.current() is None

    async def test_prolonging_keeps_the_epoch_and_taking_over_raises_it(self, backend: Backend) -> None:
        """Leadership 2."""
        first = await backend.leadership.take("one", 10.0)
        await backend.clock.advance(6.0)
        again = await backend.leadership.take("one", 10.0)
        await backend.clock.advance(6.0)
        assert await backend.leadership.take("two", 10.0) is None
        await backend.clock.advance(5.0)
        other = await backend.leadership.take("two", 10.0)
        assert first is not None
        assert again is not None
        assert other is not None
        assert (first.epoch, again.epoch, other.epoch) == (1, 1, 2)
        assert again.until == first.until + 6.0
        assert (await backend.leadership.current()) == other

    async def test_an_expired_term_begins_anew_even_for_its_owner(self, backend: Backend) -> None:
        """Leadership 2, 3: another process may have led in between."""
        first = await backend.leadership.take("one", 10.0)
        await backend.clock.advance(10.0)
        assert await backend.leadership.current() is None
        second = await backend.leadership.take("one", 10.0)
        assert first is not None
        assert second is not None
        assert second.epoch == first.epoch + 1

    async def test_who_resigns_is_followed_at_once(self, backend: Backend) -> None:
        """Leadership 3; a process can resign only for itself."""
        await backend.leadership.take("one", 10.0)
        await backend.leadership.resign("two")
        assert await backend.leadership.take("two", 10.0) is None
        await backend.leadership.resign("one")
        assert await backend.leadership.current() is None
        term = await backend.leadership.take("two", 10.0)
        assert term is not None
        assert term.epoch == 2

    async def test_when_the_last_term_ended_is_known(self, backend: Backend) -> None:
        """Leadership 5."""
        assert (await backend.leadership.newest()).epoch == 0
        term = await backend.leadership.take("one", 10.0)
        assert await backend.leadership.newest() == term
        await backend.clock.advance(4.0)
        await backend.leadership.resign("one")
        given_up = await backend.leadership.newest()
        assert term is not None
        assert (given_up.owner, given_up.epoch) == ("", term.epoch)
        assert given_up.until == pytest.approx(term.until - 6.0, abs=0.5)
        again = await backend.leadership.take("two", 10.0)
        await backend.clock.advance(100.0)
        assert await backend.leadership.newest() == again

    async def test_an_old_epoch_is_refused(self, backend: Backend) -> None:
        """Leadership 4: also without a leader."""
        await backend.leadership.take("one", 10.0)
        await backend.leadership.check(1)
        await backend.clock.advance(20.0)
        await backend.leadership.check(1)
        await backend.leadership.take("two", 10.0)
        for epoch in (0, 1, 3):
            with pytest.raises(LeadershipLost):
                await backend.leadership.check(epoch)
        await backend.leadership.resign("two")
        with pytest.raises(LeadershipLost):
            await backend.leadership.check(1)
