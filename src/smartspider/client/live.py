"""The live socket of a server: many watches over one connection that is opened again when it breaks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, Literal

import aiohttp
import msgspec

from smartspider.client.http import ServerConnection
from smartspider.client.streams import SIGNED_OUT, resumed
from smartspider.core.errors import Conflict, NotSignedIn, ServerUnreachable, TooMany

PATH = "/api/live"
FLOOD = "too many"
"""Begins the reason of a close that is no end of the session."""


class LiveMessage(msgspec.Struct, frozen=True):
    """A message about a watch: `ready` when it has begun or begun again, `data`, or an `error` that ended it.

    `data` is what is new; of an error, the problem. `after` is the position to resume from.
    """

    id: str | None
    topic: str | None
    type: Literal["ready", "data", "error"]
    after: str | int | None = None
    data: Any = None


class _Watch:
    """A watch and the position it has reached."""

    def __init__(self, topic: str, params: dict[str, Any], after: str | int | None) -> None:
        self.topic, self.params, self.after = topic, params, after
        self.is_ready = False
        """False for messages that were sent before this watch began."""

    def request(self, id_: str) -> str:
        """Return the message that asks for it."""
        after = {} if self.after is None else {"after": self.after}
        asked = {**self.params, **after, "op": "watch", "id": id_, "topic": self.topic}
        return msgspec.json.encode(asked).decode()


class LiveStream:
    """Watches of a server over one connection. They are resumed without a gap or a double when it breaks."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection
        self._watches: dict[str, _Watch] = {}
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def watch(
        self, watch_id: str, topic: str, *, after: str | int | None = None, **params: Any
    ) -> None:
        """Watch a topic under an id of your choice, from now on or after a position.

        The topics are `run` (with `run_id`), `runs`, `logs` (with the filters of `list_logs`), `nodes` and
        `hosts`.
        """
        if watch_id in self._watches:
            raise Conflict(f"{watch_id!r} is being watched", hint="unwatch it first, or use another id")
        watch = self._watches[watch_id] = _Watch(topic, params, after)
        await self._send(watch.request(watch_id))

    async def unwatch(self, watch_id: str) -> None:
        """End a watch, if it has not ended."""
        if self._watches.pop(watch_id, None) is not None:
            await self._send(msgspec.json.encode({"op": "unwatch", "id": watch_id}).decode())

    async def messages(self) -> AsyncGenerator[LiveMessage]:
        """Yield the messages about all watches, across reconnects, until the caller stops."""
        async with aclosing(resumed(self._received, self._connection.retry)) as found:
            async for message in found:
                yield message

    def __aiter__(self) -> AsyncIterator[LiveMessage]:
        """Iterate over `messages()`."""
        return self.messages()

    async def _send(self, text: str) -> None:
        if self._socket is not None:
            with suppress(ConnectionError, aiohttp.ClientError):  # sent again by the next connection
                await self._socket.send_str(text)

    async def _received(self) -> AsyncGenerator[LiveMessage | None]:
        """Yield the messages of one connection, and None when it is open."""
        async with self._connection.websocket(PATH) as socket:
            self._socket = socket
            try:
                for watch_id, watch in list(self._watches.items()):
                    watch.is_ready = False
                    await self._send(watch.request(watch_id))
                yield None
                async for message in self._read(socket):
                    yield message
            finally:
                self._socket = None

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> AsyncGenerator[LiveMessage]:
        while (received := await socket.receive()).type in (
            aiohttp.WSMsgType.TEXT,
            aiohttp.WSMsgType.BINARY,
        ):
            message = self._connection.read(received.data, LiveMessage)
            if self._is_current(message):
                yield message
        reason = received.extra or ""
        if socket.close_code == SIGNED_OUT and reason.startswith(FLOOD):
            raise TooMany(f"the server {self._connection.url} closed the connection: {reason}")
        if socket.close_code == SIGNED_OUT:
            raise NotSignedIn("the token of the stream is no longer valid")
        raise ServerUnreachable(
            f"the server {self._connection.url} does not respond: the stream was interrupted"
        )

    def _is_current(self, message: LiveMessage) -> bool:
        """Store the position of a message; return False if it is about a watch that has ended."""
        watch = self._watches.get(message.id or "")
        if message.type == "error":
            self._watches.pop(message.id or "", None)
            return watch is not None or message.id is None
        if watch is None or not (watch.is_ready or message.type == "ready"):
            return False
        watch.is_ready = True
        watch.after = message.after if message.after is not None else watch.after
        return True
