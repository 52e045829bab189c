"""The live socket: one connection for all that a client watches."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import Any, Literal, TypeVar

import msgspec
from starlette.websockets import WebSocket

from smartspider.api.problems import problem_view
from smartspider.api.routes.streaming import FAILED, RESTARTING, is_sent
from smartspider.core.access import require
from smartspider.core.errors import (
    Conflict,
    NotFound,
    RequestInvalid,
    SmartSpiderError,
    StoreUnavailable,
    TooMany,
)
from smartspider.services.live.hub import Subscriber
from smartspider.services.live.topics import TOPICS, LiveContext, Position, Update

MAX_WATCHES = 16
MAX_MESSAGE_CHARS = 16_384
MAX_ID_CHARS = 100
PACE_S = 0.25
"""Minimum interval between two updates of a watch."""
HINT = 'send {"op": "watch", "id": "1", "topic": "run", "run_id": "7"} or {"op": "unwatch", "id": "1"}'

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode
_NULL = msgspec.Raw(b"null")

T = TypeVar("T")


class Asked(msgspec.Struct, frozen=True):
    """A message of a client; the parameters of a topic are further keys."""

    op: Literal["watch", "unwatch"]
    id: str
    topic: str = ""
    after: Position = None


class LiveAnswer(msgspec.Struct, frozen=True):
    """A message of the server: `ready` when a watch has begun, then `data`; or an `error`, a problem."""

    id: str | None
    topic: str | None
    type: Literal["ready", "data", "error"]
    after: Position
    data: msgspec.Raw


class LiveSocket:
    """The watches of a connection."""

    def __init__(self, websocket: WebSocket, context: LiveContext) -> None:
        self._websocket, self._context = websocket, context
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._sending = asyncio.Lock()
        self._closing: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def serve(self) -> None:
        """Answer until the client disconnects (no code), a watch fails (1011), or the server stops (1012)."""
        with self._context.hub.connect(self._context.principal.name) as subscriber:
            await self._websocket.accept()
            receiving = asyncio.create_task(self._receive())
            stopping = asyncio.create_task(self._until_stopped(subscriber))
            ends: set[asyncio.Future[Any]] = {receiving, self._closing}
            has_disconnected = False
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                has_disconnected = receiving.done()
            finally:
                tasks = [receiving, stopping, *self._watches.values()]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            if not has_disconnected:
                await self._websocket.close(self._closing.result())

    async def _until_stopped(self, subscriber: Subscriber) -> None:
        while True:
            try:
                await subscriber.wait()
            except StoreUnavailable:
                self._close(RESTARTING)
                return

    async def _receive(self) -> None:
        while (message := await self._websocket.receive())["type"] != "websocket.disconnect":
            id_, text = None, message.get("text")
            try:
                document = _document(text)
                id_ = document.get("id")
                asked = _asked(document)
                if asked.op == "unwatch":
                    await self._unwatch(asked)
                else:
                    self._watch(asked, document)
            except SmartSpiderError as error:
                shown = id_ if isinstance(id_, str) and len(id_) <= MAX_ID_CHARS else None
                await self._send_error(shown, None, error)

    def _watch(self, asked: Asked, document: dict[str, Any]) -> None:
        topic = TOPICS.get(asked.topic)
        if topic is None:
            raise NotFound(
                f"there is no topic {asked.topic[:40]!r}", hint=f"the topics are {', '.join(TOPICS)}"
            )
        if asked.id in self._watches:
            raise Conflict(f"{asked.id!r} is being watched", hint="unwatch it first, or use another id")
        if len(self._watches) >= MAX_WATCHES:
            raise TooMany(f"a socket has at most {MAX_WATCHES} watches", hint="unwatch what is not shown")
        require(self._context.principal, topic.area, "read")
        given = {name: value for name, value in document.items() if name not in Asked.__struct_fields__}
        params = _converted(given, topic.params)
        updates = topic.updates(self._context, params, asked.after)
        self._watches[asked.id] = asyncio.create_task(self._follow(asked, updates))

    async def _unwatch(self, asked: Asked) -> None:
        watch = self._watches.pop(asked.id, None)
        if watch is None:
            raise NotFound(f"{asked.id!r} is not being watched", hint="use the id of a watch")
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)

    async def _follow(self, asked: Asked, updates: Any) -> None:
        """Send the updates of a watch. A slow client makes it wait here, so states in between are skipped."""
        try:
            async with aclosing(updates) as found:
                async for update in found:
                    await self._send_update(asked, update)
                    if update.data:
                        await asyncio.sleep(PACE_S)
        except StoreUnavailable:
            self._close(RESTARTING)
        except SmartSpiderError as error:
            self._watches.pop(asked.id, None)
            await self._send_error(asked.id, asked.topic, error)
        except Exception:  # noqa: BLE001 - else the client would wait for updates that never come
            _log.exception("a watch failed")
            self._close(FAILED)

    def _close(self, code: int) -> None:
        if not self._closing.done():
            self._closing.set_result(code)

    async def _send_update(self, asked: Asked, update: Update) -> None:
        kind: Literal["data", "ready"] = "data" if update.data else "ready"
        data = msgspec.Raw(update.data) if update.data else _NULL
        await self._send(LiveAnswer(asked.id, asked.topic, kind, update.after, data))

    async def _send_error(self, id_: str | None, topic: str | None, error: SmartSpiderError) -> None:
        problem = msgspec.Raw(_encode(problem_view(error)))
        await self._send(LiveAnswer(id_, topic, "error", None, problem))

    async def _send(self, answer: LiveAnswer) -> None:
        text = _encode(answer).decode()
        async with self._sending:
            await is_sent(self._websocket, text)


def _document(text: str | None) -> dict[str, Any]:
    """Return a message as an object; raise `RequestInvalid`."""
    if text is None:
        raise RequestInvalid("a message is JSON text, not bytes", hint=HINT)
    if len(text) > MAX_MESSAGE_CHARS:
        raise RequestInvalid(f"a message has at most {MAX_MESSAGE_CHARS} characters", hint=HINT)
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise RequestInvalid("the message is not a JSON object", hint=HINT) from error


def _asked(document: dict[str, Any]) -> Asked:
    asked = _converted(document, Asked)
    if not 0 < len(asked.id) <= MAX_ID_CHARS:
        raise RequestInvalid(f"an id has 1 to {MAX_ID_CHARS} characters", hint=HINT)
    return asked


def _converted(given: dict[str, Any], kind: type[T]) -> T:
    """Return an object as a struct; raise `RequestInvalid`."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise RequestInvalid(f"the message is invalid: {str(error)[:300]}", hint=HINT) from error
