"""The contract of `dedup/url_filter.py`; `make` builds a filter with a memory budget."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from hashlib import blake2b
from typing import Generic, TypeVar

import pytest

from smartspider.dedup.url_filter import ExactUrlFilter, FilterKey, UrlFilter, parse_filter_key

RUN = FilterKey("run", 7, "e1")
TASK = FilterKey("task", 3, "e1")
AMPLE = 50_000_000

S = TypeVar("S", bound=UrlFilter)
Make = Callable[[int], Awaitable[S]]


def fingerprints(first: int, last: int) -> list[bytes]:
    """Return fingerprints that are distributed like those of requests."""
    return [blake2b(b"%d" % number, digest_size=16).digest() for number in range(first, last)]


class UrlFilterContract(ABC, Generic[S]):
    """The promises of every filter."""

    @pytest.fixture
    @abstractmethod
    def make(self) -> AsyncIterator[Make[S]] | Make[S]:
        """Return a factory of filters that share their content, as several processes do."""

    async def test_only_what_was_added_is_known(self, make: Make[S]) -> None:
        """Seen 1, 2: to everybody; of several thousand new ones none is taken for known."""
        one, other = await make(AMPLE), await make(AMPLE)
        there, new = fingerprints(0, 3000), fingerprints(3000, 6000)
        assert await one.find_known(RUN, there) == set()
        added = await one.add(RUN, there)
        assert (added.new, added.refused) == (3000, 0)
        for layer in (one, other):
            assert await layer.find_known(RUN, [*there, *new]) == set(there)

    async def test_keys_are_apart(self, make: Make[S]) -> None:
        """Seen 1: run, task and epoch each make another one."""
        seen = await make(AMPLE)
        await seen.add(RUN, fingerprints(0, 100))
        for key in (FilterKey("run", 7, "e2"), FilterKey("run", 8, "e1"), FilterKey("task", 7, "e1"), TASK):
            assert await seen.find_known(key, fingerprints(0, 100)) == set()
        await seen.add(TASK, fingerprints(100, 200))
        assert await seen.find_known(RUN, fingerprints(0, 200)) == set(fingerprints(0, 100))
        assert await seen.keys() == [RUN, TASK]

    async def test_adding_again_changes_nothing(self, make: Make[S]) -> None:
        """Seen 3: also within one call."""
        seen = await make(AMPLE)
        first = await seen.add(RUN, fingerprints(0, 500) + fingerprints(0, 500))
        again = await seen.add(RUN, fingerprints(0, 500))
        assert (first.new, again.new, again.size) == (500, 0, first.size)
        assert await seen.size() == first.size

    async def test_what_is_dropped_is_gone_for_everybody(self, make: Make[S]) -> None:
        """Seen 4: and may be added anew, other keys keep theirs."""
        one, other = await make(AMPLE), await make(AMPLE)
        await one.add(RUN, fingerprints(0, 1000))
        await one.add(TASK, fingerprints(0, 10))
        assert len(await other.find_known(RUN, fingerprints(0, 1000))) == 1000
        await one.drop(RUN)
        await one.drop(FilterKey("run", 99))
        assert await other.find_known(RUN, fingerprints(0, 1000)) == set()
        assert await other.find_known(TASK, fingerprints(0, 10)) == set(fingerprints(0, 10))
        assert await other.keys() == [TASK]
        await other.add(RUN, fingerprints(0, 1))
        assert await one.find_known(RUN, fingerprints(0, 1000)) == set(fingerprints(0, 1))

    async def test_dropping_gives_the_budget_back(self, make: Make[S]) -> None:
        """Seen 4, 5."""
        seen = await make(AMPLE)
        await seen.add(RUN, fingerprints(0, 1000))
        assert (await seen.size()).bytes_used > 0
        await seen.drop(RUN)
        assert (await seen.size()).bytes_used == 0

    async def test_no_layer_outgrows_its_budget(self, make: Make[S]) -> None:
        """Seen 5: what was refused is not known, what was there still is."""
        seen = await make(100_000)
        everything = fingerprints(0, 40_000)
        refused = 0
        for start in range(0, len(everything), 1000):
            added = await seen.add(RUN, everything[start : start + 1000])
            refused += added.refused
            assert added.size.bytes_used <= added.size.bytes_max == 100_000
        assert 0 < refused < 40_000
        known = await seen.find_known(RUN, everything)
        assert abs(len(known) - (40_000 - refused)) <= 4
        assert set(everything[:2000]) <= known

    async def test_nothing_is_asked_and_nothing_added(self, make: Make[S]) -> None:
        """Seen 6: empty batches are fine."""
        seen = await make(AMPLE)
        assert await seen.find_known(RUN, []) == set()
        assert (await seen.add(RUN, [])).new == 0
        assert await seen.keys() == []

    async def test_growth_in_steps_of_any_size_loses_nothing(self, make: Make[S]) -> None:
        """Seen 2, 6: single ones and thousands, in turns by two who do not know of each other."""
        one, other = await make(AMPLE), await make(AMPLE)
        dice, left, given = random.Random(5), fingerprints(0, 12_000), list[bytes]()  # noqa: S311 - a test
        while left:
            count = dice.choice((1, 17, 500, 2500))
            batch, left = left[:count], left[count:]
            await dice.choice((one, other)).add(RUN, batch)
            given += batch
        assert await one.find_known(RUN, given) == set(given)

    def test_keys_are_read_as_they_are_written(self) -> None:
        """All of a key is in its text."""
        assert [parse_filter_key(str(key)) for key in (RUN, TASK)] == [RUN, TASK]
        assert parse_filter_key(str(FilterKey("run", 1, "a.b:c"))) == FilterKey("run", 1, "a.b:c")
        assert [parse_filter_key(text) for text in ("", "run", "run.1", "run.x.e", "page.1.e")] == [None] * 5


class ExactUrlFilterContract(UrlFilterContract[ExactUrlFilter]):
    """The additional promises of an exact filter."""

    async def test_all_that_is_known_can_be_listed(self, make: Make[ExactUrlFilter]) -> None:
        """Seen 7."""
        seen = await make(AMPLE)
        await seen.add(RUN, fingerprints(0, 5000))
        listed = [one async for batch in seen.entries(RUN) for one in batch]
        assert len(listed) == 5000
        assert set(listed) == set(fingerprints(0, 5000))
        assert [batch async for batch in seen.entries(TASK)] == []

    async def test_listing_while_others_add_leaves_out_nothing_old(self, make: Make[ExactUrlFilter]) -> None:
        """Seen 7."""
        one, other = await make(AMPLE), await make(AMPLE)
        await one.add(RUN, fingerprints(0, 8000))
        listed, added = set[bytes](), 8000
        async for batch in one.entries(RUN):
            listed.update(batch)
            if added < 30_000:
                await other.add(RUN, fingerprints(added, added + 4000))
                added += 4000
        assert set(fingerprints(0, 8000)) <= listed
