"""A frontier on a server of its own, as the keeper maintains it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from smartspider.interfaces.index import LAPSE_S, Index
from smartspider.interfaces.leadership import Leadership
from smartspider.interfaces.open_rows import OpenRows


async def single_history() -> str:
    """Return the same history always: for a store that never loses a commit."""
    return ""


class RemoteFrontier(msgspec.Struct, frozen=True):
    """The index of a frontier, and the open rows that the keeper fills it from."""

    index: Index
    rows: OpenRows
    leadership: Leadership
    store_now: Callable[[], float]
    lapse_s: float = LAPSE_S
    history: Callable[[], Awaitable[str]] = single_history
    """The id of the store's history; another one means that commits sent to the index may be lost (ADR 29).
    """
