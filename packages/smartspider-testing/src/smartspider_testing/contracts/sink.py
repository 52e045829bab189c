"""The contract of `interfaces/sink.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

import pytest

from smartspider.core.errors import LeadershipLost
from smartspider.interfaces.sink import Sink, SinkRow
from smartspider_testing.contracts.backend import Backend, BackendContract
from smartspider_testing.contracts.tasks.schedules import leading
from smartspider_testing.crashes import SimulatedCrash

R = TypeVar("R", bound=SinkRow)


class Destination(ABC, Generic[R]):
    """The destination of a sink under test."""

    sink: Sink[R]

    @abstractmethod
    def row(self, number: int) -> R:
        """Return a row that the sink selects, the same for the same number; versions grow with numbers."""

    @abstractmethod
    def content(self, row: R) -> str:
        """Return what the destination holds of a row, different for each key and version."""

    @abstractmethod
    async def held(self) -> list[str]:
        """Return the content of everything the destination holds, sorted."""

    @abstractmethod
    def crashing(self) -> AbstractContextManager[None]:
        """Let `put` raise `SimulatedCrash` within the block, after some rows were sent."""

    def contents(self, *rows: R) -> list[str]:
        """Return what the destination holds of these rows, sorted."""
        return sorted(self.content(row) for row in rows)


class SinkContract(Generic[R]):
    """Rows are at the destination once in effect, however often they are put."""

    async def test_a_confirmed_batch_is_at_the_destination(self, destination: Destination[R]) -> None:
        """Sink 1, 5."""
        rows = [destination.row(number) for number in range(1, 6)]
        assert await destination.sink.put(rows) == 5
        assert await destination.held() == destination.contents(*rows)

    async def test_an_empty_batch_is_confirmed(self, destination: Destination[R]) -> None:
        """Sink 1."""
        assert await destination.sink.put([]) == 0
        assert await destination.held() == []

    async def test_rows_that_are_put_again_change_nothing(self, destination: Destination[R]) -> None:
        """Sink 2, 5: batches overlap after a crash, and rows count that are there already."""
        rows = [destination.row(number) for number in range(1, 7)]
        await destination.sink.put(rows[:4])
        assert await destination.sink.put(rows[2:]) == 4
        assert await destination.sink.put(rows) == 6
        assert await destination.held() == destination.contents(*rows)

    async def test_two_that_put_the_same_rows_at_once_store_them_once(
        self, destination: Destination[R]
    ) -> None:
        """Sink 2: a late holder of the position beside the new one."""
        rows = [destination.row(number) for number in range(1, 5)]
        assert await asyncio.gather(*(destination.sink.put(rows) for _ in range(3))) == [4, 4, 4]
        assert await destination.held() == destination.contents(*rows)

    async def test_a_batch_that_broke_off_is_put_again(self, destination: Destination[R]) -> None:
        """Sink 4."""
        rows = [destination.row(number) for number in range(1, 5)]
        with destination.crashing(), pytest.raises(SimulatedCrash):
            await destination.sink.put(rows)
        assert set(await destination.held()) <= set(destination.contents(*rows))
        assert await destination.sink.put(rows) == 4
        assert await destination.held() == destination.contents(*rows)


class ChangingDestination(Destination[R]):
    """The destination of a feed whose rows change."""

    @abstractmethod
    def changed(self, row: R) -> R:
        """Return the row of the same key with a newer version."""


class ChangingSinkContract(SinkContract[R]):
    """Sinks of feeds whose rows change; the rows of events never do."""

    async def test_a_newer_version_replaces_an_older_one(self, destination: ChangingDestination[R]) -> None:
        """Sink 3."""
        older, other = destination.row(1), destination.row(2)
        newer = destination.changed(older)
        await destination.sink.put([older, other])
        await destination.sink.put([newer])
        assert await destination.held() == destination.contents(newer, other)

    async def test_an_older_version_never_replaces_a_newer_one(
        self, destination: ChangingDestination[R]
    ) -> None:
        """Sink 3: any part of a feed may be repeated, also within one batch."""
        older = destination.row(1)
        newer = destination.changed(older)
        await destination.sink.put([newer])
        await destination.sink.put([older])
        await destination.sink.put([newer, older])
        assert await destination.held() == destination.contents(newer)


class PositionContract(BackendContract):
    """A consumer continues where it stopped."""

    async def test_a_position_never_moves_back(self, backend: Backend) -> None:
        """Position 1."""
        position = backend.position("sink", epoch=await leading(backend))
        assert await position.read() == 0
        for version in (5, 9, 7):
            await position.advance(version)
        assert await position.read() == 9

    async def test_a_position_survives_the_process(self, backend: Backend) -> None:
        """Position 2."""
        epoch = await leading(backend)
        await backend.position("sink", epoch=epoch).advance(5)
        await backend.reopen()
        assert await backend.position("sink", epoch=epoch).read() == 5

    async def test_each_consumer_has_a_position_of_its_own(self, backend: Backend) -> None:
        """Position 1."""
        epoch = await leading(backend)
        await backend.position("sink", epoch=epoch).advance(5)
        assert await backend.position("another", epoch=epoch).read() == 0

    async def test_a_late_holder_cannot_move_a_position(self, backend: Backend) -> None:
        """Position 3."""
        late = backend.position("sink", epoch=await leading(backend))
        await late.advance(1)
        await backend.leadership.resign("keeper")
        await backend.leadership.take("another", 10.0)
        with pytest.raises(LeadershipLost):
            await late.advance(2)
        assert await late.read() == 1
