"""Readers that watches share: each reads the store once for all watches with the same key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

Notify = Callable[[], None]


class SharedReader:
    """Reads the store until no watch is left, and notifies all watches of what is new."""

    def __init__(self) -> None:
        self._error: Exception | None = None
        self.notified: list[Notify] = []
        """Called when something is new; one for each watch."""

    @property
    def has_failed(self) -> bool:
        """True if an error has ended the reading."""
        return self._error is not None

    def check(self) -> None:
        """Raise the error that has ended the reading, if one has."""
        if self._error is not None:
            raise self._error

    def notify(self) -> None:
        """Notify all watches."""
        for notify in self.notified:
            notify()

    async def follow(self) -> None:
        """Read until an error, which the watches raise."""
        try:
            await self.read()
        except Exception as error:  # noqa: BLE001 - the watches raise it
            self._error = error
            self.notify()

    async def read(self) -> None:
        """Read without end."""
        raise NotImplementedError


R = TypeVar("R", bound=SharedReader)


class SharedReaders:
    """The readers of a process, by key."""

    def __init__(self) -> None:
        self._readers: dict[Hashable, tuple[SharedReader, asyncio.Task[None]]] = {}

    def __len__(self) -> int:
        return len(self._readers)

    @asynccontextmanager
    async def share(self, key: Hashable, build: Callable[[], R], notify: Notify) -> AsyncIterator[R]:
        """Share the reader of a key. The first watch starts it, the last one ends it."""
        found: tuple[Any, asyncio.Task[None]] | None = self._readers.get(key)
        if found is None or found[0].has_failed:
            built = build()
            found = self._readers[key] = (built, asyncio.create_task(built.follow(), name="live reader"))
        reader, reading = found
        reader.notified.append(notify)
        try:
            yield cast("R", reader)
        finally:
            reader.notified.remove(notify)
            if not reader.notified:
                if self._readers.get(key) is found:
                    del self._readers[key]
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
