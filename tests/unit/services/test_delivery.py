"""Delivery from a feed to a sink, and the reference sink that it is tried with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from smartspider.core import failpoints
from smartspider.services.delivery import deliver_batch
from smartspider_testing.backends.memory_sink import MemorySink
from smartspider_testing.contracts import ChangingSinkContract
from smartspider_testing.contracts.sink import ChangingDestination
from smartspider_testing.crashes import SimulatedCrash, crash_at


class Row(msgspec.Struct, frozen=True):
    key: str
    version: int


class MemoryDestination(ChangingDestination[Row]):
    def __init__(self) -> None:
        self._memory = self.sink = MemorySink()

    def row(self, number: int) -> Row:
        return Row(f"1-{number}", number)

    def changed(self, row: Row) -> Row:
        return Row(row.key, row.version + 100)

    def content(self, row: Row) -> str:
        return f"{row.key}@{row.version}"

    async def held(self) -> list[str]:
        return sorted(f"{row.key}@{row.version}" for row in self._memory.rows.values())

    @contextmanager
    def crashing(self) -> Iterator[None]:
        self._memory.is_crashing = True
        yield
        self._memory.is_crashing = False


class TestMemorySink(ChangingSinkContract[Row]):
    @pytest.fixture
    def destination(self) -> MemoryDestination:
        return MemoryDestination()


class MemoryPosition:
    def __init__(self) -> None:
        self.version = 0
        self.writes = 0

    async def read(self) -> int:
        return self.version

    async def advance(self, version: int) -> None:
        self.version = max(self.version, version)
        self.writes += 1


class Counting:
    """A sink that selects rows, and counts how often it is asked."""

    def __init__(self, *, selects: bool = True) -> None:
        self.memory = MemorySink()
        self.batches: list[int] = []
        self._selects = selects

    async def put(self, rows: Sequence[Row]) -> int:
        self.batches.append(len(rows))
        return await self.memory.put(rows) if self._selects else 0


class ListFeed:
    def __init__(self, count: int) -> None:
        self.rows = [Row(f"1-{number}", number) for number in range(1, count + 1)]

    async def __call__(self, after: int, /, *, limit: int) -> Sequence[Row]:
        return [row for row in self.rows if row.version > after][:limit]


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.arm(None)


async def test_a_feed_is_delivered_in_bounded_batches_in_order() -> None:
    feed, sink, position = ListFeed(25), Counting(), MemoryPosition()
    while await deliver_batch(feed, sink, position, limit=10):
        pass
    assert sink.batches == [10, 10, 5]
    assert list(sink.memory.rows.values()) == feed.rows
    assert position.version == 25


async def test_the_position_stays_until_the_destination_confirmed() -> None:
    feed, sink, position = ListFeed(4), Counting(), MemoryPosition()
    sink.memory.is_crashing = True
    with pytest.raises(SimulatedCrash):
        await deliver_batch(feed, sink, position)
    assert (len(sink.memory.rows), position.version) == (2, 0)
    sink.memory.is_crashing = False
    await deliver_batch(feed, sink, position)
    assert (len(sink.memory.rows), position.version) == (4, 4)


async def test_a_crash_after_the_confirmation_repeats_the_batch_without_effect() -> None:
    feed, sink, position = ListFeed(4), Counting(), MemoryPosition()
    crash_at("sink.put")
    with pytest.raises(SimulatedCrash):
        await deliver_batch(feed, sink, position)
    assert (len(sink.memory.rows), position.version) == (4, 0)
    await deliver_batch(feed, sink, position)
    assert (sink.batches, len(sink.memory.rows), position.version) == ([4, 4], 4, 4)


@pytest.mark.parametrize(("count", "version"), [(9, 0), (10, 10)])
async def test_a_few_rows_that_a_sink_does_not_select_cost_no_write(count: int, version: int) -> None:
    position = MemoryPosition()
    assert not await deliver_batch(ListFeed(count), Counting(selects=False), position, limit=100)
    assert (position.version, position.writes) == (version, version > 0)


async def test_nothing_new_is_neither_put_nor_written() -> None:
    sink, position = Counting(), MemoryPosition()
    assert not await deliver_batch(ListFeed(0), sink, position)
    assert (sink.batches, position.writes) == ([], 0)
