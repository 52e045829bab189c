"""Log lines that many watches follow: those of a filter are searched once for all of them."""

from __future__ import annotations

from collections import deque

import msgspec

from smartspider.core.redaction.masking import mask_view
from smartspider.services.live.hub import LiveHub
from smartspider.services.live.shared import SharedReader
from smartspider.store.logs.store import LogStore
from smartspider.store.logs.terms import LogFilter
from smartspider.views.logs import log_view

PIECE = 200
"""Lines read from the store at a time."""
MAX_PIECES = 20
"""Pieces kept for watches that read slowly; what is older they read from the store."""

_encode = msgspec.json.Encoder().encode


class TailPiece(msgspec.Struct, frozen=True):
    """The matching lines after a number, up to another one: each with its number, and as JSON."""

    after: int
    last: int
    lines: list[tuple[int, bytes]]


class TailSource(msgspec.Struct, frozen=True):
    """A filter for log lines, and whether the secrets in them are shown."""

    wanted: LogFilter
    shows_secrets: bool

    async def read(self, logs: LogStore, after: int) -> TailPiece:
        """Return the next lines after a number."""
        page = await logs.after(self.wanted, after=after, limit=PIECE)
        views = [log_view(stored) for stored in page.lines]
        shown = views if self.shows_secrets else [mask_view(view) for view in views]
        lines = [(stored.id, _encode(view)) for stored, view in zip(page.lines, shown, strict=True)]
        return TailPiece(after, max(after, page.next or 0), lines)


class SharedTail(SharedReader):
    """The newest lines of a source."""

    def __init__(self, source: TailSource, logs: LogStore, hub: LiveHub) -> None:
        super().__init__()
        self._source, self._logs, self._hub = source, logs, hub
        self._pieces: deque[TailPiece] = deque(maxlen=MAX_PIECES)
        self._last = -1

    async def after(self, number: int) -> TailPiece:
        """Return lines after a number: kept ones, or from the store; none if there are none yet."""
        self.check()
        for piece in self._pieces:
            if piece.after <= number < piece.last:
                return TailPiece(number, piece.last, [line for line in piece.lines if line[0] > number])
        if number < self._last:
            return await self._source.read(self._logs, number)
        return TailPiece(number, number, [])

    async def read(self) -> None:
        """Search new lines."""
        with self._hub.subscribe_logs() as subscriber:
            self._last = await self._logs.last_id()
            self.notify()
            while True:
                piece = await self._source.read(self._logs, self._last)
                if piece.last > self._last:
                    self._pieces.append(piece)
                    self._last = piece.last
                    self.notify()
                    continue
                subscriber.take()
                await subscriber.wait()
