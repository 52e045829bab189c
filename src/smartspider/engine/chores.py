"""What a worker does beside its work, whatever that waits for: each chore at its own pace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.engine.patience import Patience, Pauses
from smartspider.interfaces.clock import Clock


class Chore(msgspec.Struct, frozen=True):
    """Something to be done again and again."""

    name: str
    every_s: float
    do: Callable[[], Awaitable[None]]


@asynccontextmanager
async def chores_done(
    chores: list[Chore], clock: Clock, patience: Patience, on_trouble: Callable[[Exception], None]
) -> AsyncIterator[None]:
    """Chores are done until the block ends. What ends one of them is told, and nobody else waits for it."""
    tasks = [asyncio.create_task(_attend(chore, clock, patience, on_trouble)) for chore in chores]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _attend(
    chore: Chore, clock: Clock, patience: Patience, on_trouble: Callable[[Exception], None]
) -> None:
    pauses = Pauses()
    try:
        while True:
            try:
                await chore.do()
            except StoreUnavailable as error:
                patience.failed(chore.name, error)
                await clock.sleep(pauses.next_s())
            else:
                patience.worked(chore.name)
                pauses.reset()
                await clock.sleep(chore.every_s)
    except Exception as error:  # noqa: BLE001 - whoever works raises it: nothing must end unseen
        on_trouble(error)
