"""Files as responses, sent while they are written."""

from __future__ import annotations

import asyncio
import logging
import unicodedata
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from smartspider.api.limits import ApiLimits
from smartspider.core.errors import SmartSpiderError
from smartspider.services.results.exports import Export
from smartspider.services.results.outputs import OTHER, media_types

_log = logging.getLogger(__name__)

HELD_BYTES = 1_000_000
"""The beginning of a file that is held back."""


class FileResponse(Response):
    """A streamed file.

    An error while the beginning is held back, for most files to their end, becomes a problem response. A
    later error aborts the connection, so that a partial file is not mistaken for a complete one. If the
    client disconnects, accepts nothing for `stall_s` or is slower than `min_bytes_per_s`, the export stops.
    """

    def __init__(self, export: Export, limits: ApiLimits) -> None:
        super().__init__(media_type=export.media_type)
        del self.headers["content-length"]
        self.headers["content-type"] = export.media_type
        self.headers["content-disposition"] = content_disposition(export.name)
        self._export, self._limits = export, limits

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file until it ends or the client disconnects."""
        sending = asyncio.create_task(self._send(send))
        disconnecting = asyncio.create_task(_until_disconnected(receive))
        try:
            await asyncio.wait((sending, disconnecting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            disconnecting.cancel()
            is_sent = sending.done()
            sending.cancel()
            await asyncio.wait((sending, disconnecting))
        if is_sent:
            sending.result()

    async def _send(self, send: Send) -> None:
        pace = ClientPace(self._limits)
        async with aclosing(cast("Any", self._export.chunks)) as chunks:
            held = await _beginning(chunks)
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )
            try:
                async for chunk in _chained(held, chunks):
                    async with pace.sending(chunk):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except SmartSpiderError as error:
                _log.error("an export was aborted: %s", error.message)
                return  # without the end of the body, so that the server closes the connection
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _beginning(chunks: AsyncIterator[bytes]) -> list[bytes]:
    """Return the first chunks: all that are held back."""
    held: list[bytes] = []
    async for chunk in chunks:
        held.append(chunk)
        if sum(map(len, held)) >= HELD_BYTES:
            break
    return held


async def _chained(held: list[bytes], chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    while held:
        yield held.pop(0)
    async for chunk in chunks:
        yield chunk


class ClientPace:
    """The rate at which a client accepts a file. Only the time spent waiting for the client counts."""

    def __init__(self, limits: ApiLimits) -> None:
        self._limits = limits
        self._left_s = limits.slow_s

    @asynccontextmanager
    async def sending(self, chunk: bytes) -> AsyncIterator[None]:
        """Allow a client the time for a chunk; raise `TimeoutError` after it."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        self._left_s += len(chunk) / self._limits.min_bytes_per_s
        try:
            async with asyncio.timeout(min(self._left_s, self._limits.stall_s)):
                yield
        except TimeoutError:
            _log.warning("a client reads an export too slowly and is disconnected")
            raise
        self._left_s -= loop.time() - start


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def content_disposition(name: str) -> str:
    """Return a Content-Disposition header (RFC 6266) with the name in ASCII and, if it differs, in UTF-8."""
    plain = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "_"
        for char in unicodedata.normalize("NFKD", name)
        if not unicodedata.combining(char)
    )
    header = f'attachment; filename="{plain}"'
    return header if plain == name else f"{header}; filename*=UTF-8''{quote(name, safe='')}"


def document_file(description: str) -> dict[str, Any]:
    """Describe the response in the OpenAPI document."""
    return {
        "description": description,
        "headers": {
            "Content-Disposition": {
                "description": "The name of the file; of an export `<task>-run-<id>.<format>`.",
                "schema": {"type": "string"},
            }
        },
        "content": {
            **{name.partition(";")[0]: {"schema": {}} for name in sorted({*media_types(), OTHER})},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
        },
    }
