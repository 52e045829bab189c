"""Deliver the rows of a feed to a sink: put, then advance."""

from __future__ import annotations

from typing import TypeVar

from smartspider.core import failpoints
from smartspider.interfaces.sink import Feed, Position, Sink, SinkRow

R = TypeVar("R", bound=SinkRow)

BATCH = 1000


async def deliver_batch(feed: Feed[R], sink: Sink[R], position: Position, *, limit: int = BATCH) -> bool:
    """Deliver the next batch of a feed; return True while there may be more.

    A crash between the two steps repeats the batch, which a sink does not notice.
    """
    rows = await feed(await position.read(), limit=limit)
    if not rows:
        return False
    held = await sink.put(rows)
    failpoints.reach("sink.put")
    if held or len(rows) >= limit // 10:  # a few rows that the sink does not select are cheaper to read again
        await position.advance(rows[-1].version)
    return len(rows) == limit
