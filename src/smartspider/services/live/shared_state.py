"""A view that many watches show: read again and again, and passed on when it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from typing import Any

import msgspec

from smartspider.services.live.shared import SharedReader

PACE_S = 0.25
"""Minimum interval between two reads of a state."""

_encode = msgspec.json.Encoder().encode


class SharedState(SharedReader):
    """A view as JSON. `wait` returns when it may have changed."""

    def __init__(self, view: Callable[[], Awaitable[Any]], wait: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._view, self._wait = view, wait
        self._content = b""
        self.digest = ""
        """Identifies the content; empty until it was read."""

    def differing(self, digest: str) -> bytes | None:
        """Return the content if it has another digest; raise the error that has ended the reading."""
        self.check()
        return None if self.digest in ("", digest) else self._content

    async def read(self) -> None:
        """Read the view whenever it may have changed."""
        while True:
            content = _encode(await self._view())
            if content != self._content:
                self._content = content
                self.digest = blake2b(content, digest_size=8).hexdigest()
                self.notify()
            await asyncio.sleep(PACE_S)
            await self._wait()
