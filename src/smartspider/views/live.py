"""Messages of live streams."""

from __future__ import annotations

import msgspec


class LiveEvent(msgspec.Struct, frozen=True):
    """A message of a stream. `id` is the number of the event within its run, to resume after; messages about
    the stream itself have none.
    """

    id: int | None
    run_id: str | None
    at: str
    event: str
    data: msgspec.Raw
