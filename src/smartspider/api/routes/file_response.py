"""Files as answers, sent while they are made."""

from __future__ import annotations

import asyncio
import unicodedata
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from smartspider.services.results.exports import Export
from smartspider.services.results.outputs import media_types

STALL_S = 120.0
"""Who does not take a piece for so long is not waited for any more."""


class FileResponse(Response):
    """A file that is sent piece by piece.

    What goes wrong before the first piece is answered as a problem. After that the connection is broken off,
    so that nobody takes a part for the whole. When the client goes away, the making ends.
    """

    def __init__(self, export: Export) -> None:
        super().__init__(media_type=export.media_type)
        del self.headers["content-length"]
        self.headers["content-type"] = export.media_type
        self.headers["content-disposition"] = content_disposition(export.name)
        self._export = export

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, as long as somebody takes it."""
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_until_gone(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            is_over = sending.done()
            sending.cancel()
            await asyncio.wait((sending, leaving))
        if is_over:
            sending.result()

    async def _send(self, send: Send) -> None:
        is_begun = False
        async with aclosing(cast("Any", self._export.chunks)) as chunks:
            async for chunk in chunks:
                if not is_begun:
                    start = {"status": self.status_code, "headers": self.raw_headers}
                    await send({"type": "http.response.start", **start})
                    is_begun = True
                async with asyncio.timeout(STALL_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def content_disposition(name: str) -> str:
    """The header that names a file (RFC 6266): once for everybody, once as it is."""
    plain = "".join(
        char if char.isascii() and (char.isalnum() or char in "._-") else "_"
        for char in unicodedata.normalize("NFKD", name)
        if not unicodedata.combining(char)
    )
    header = f'attachment; filename="{plain}"'
    return header if plain == name else f"{header}; filename*=UTF-8''{quote(name, safe='')}"


def document_file(description: str) -> dict[str, Any]:
    """Describe the answer in the OpenAPI document."""
    return {
        "description": description,
        "headers": {
            "Content-Disposition": {
                "description": "The name of the file: `<task>-run-<id>.<format>`.",
                "schema": {"type": "string"},
            }
        },
        "content": {
            **{name.partition(";")[0]: {"schema": {}} for name in sorted(set(media_types()))},
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
        },
    }
