"""The console: the files of its build, and its page at every path that is neither a file nor of the API."""

from __future__ import annotations

import asyncio
import gzip
import secrets
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from types import MappingProxyType

import brotli  # type: ignore[import-untyped] # the library ships no types
import msgspec
from fastapi import FastAPI, HTTPException
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

API_PATHS = frozenset({"api", "metrics", "healthz", "readyz"})
"""Paths that never show the console, in any case of letters, with everything below them."""
CROOKED = frozenset({"", ".", ".."})
"""Parts of paths that programs read in different ways; such paths show nothing."""
HASHED = "/assets/"
"""Files whose names change with their content."""
INDEX = "/index.html"
NONCE = "{{nonce}}"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
IMMUTABLE = "public, max-age=31536000, immutable"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""File types of the build; other files are not served."""
COMPRESSED_FROM = 500
"""Smaller files are sent as they are."""
BROTLI_QUALITY = 10
NOT_BUILT = "The console is not built: run `make console` in the checkout. The API is at /api/docs.\n"


class ConsoleFile(msgspec.Struct, frozen=True):
    """A file of the build, with its content by encoding."""

    media_type: str
    encodings: Mapping[str, bytes]


class Console:
    """Serves a build. A file is read and compressed once, when it is first asked for."""

    def __init__(self, build: Traversable) -> None:
        self._build = build
        self._index = index.read_text("utf-8") if (index := build / INDEX[1:]).is_file() else ""
        self._files: dict[str, ConsoleFile] = {}
        self._reading = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        response = await self._respond(scope["path"], Headers(scope=scope).get("accept-encoding", ""))
        await response(scope, receive, send)

    async def _respond(self, path: str, accepted: str) -> Response:
        if not self._index:
            return PlainTextResponse(NOT_BUILT, 404)
        if path == INDEX or not is_file_path(path):
            return self._page()
        if path not in self._files:
            async with self._reading:
                if path not in self._files:
                    self._files[path] = await asyncio.to_thread(read_file, self._build, path)
        return _file_response(self._files[path], path, accepted)

    def _page(self) -> Response:
        """Return the page, with another nonce each time for the styles that libraries add."""
        nonce = secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": POLICY.format(nonce=nonce)}
        return HTMLResponse(self._index.replace(NONCE, nonce), headers=headers)


def is_file_path(path: str) -> bool:
    """Return True for paths that only a file can have; all others show the page."""
    return path.startswith(HASHED) or (path.count("/") == 1 and "." in path)


def is_console_path(path: str) -> bool:
    """Return True for paths that are well formed and not of the API, whether it has them or not."""
    parts = path.lower().split("/")[1:]
    return path == "/" or (parts[:1] != [] and parts[0] not in API_PATHS and CROOKED.isdisjoint(parts))


def read_file(build: Traversable, path: str) -> ConsoleFile:
    """Return a file of the build, compressed; raise 404 if there is none."""
    parts = PurePosixPath(path[1:]).parts
    media_type = MEDIA_TYPES.get(PurePosixPath(path).suffix)
    if media_type is None or len(parts) > 2 or any(part.startswith(".") for part in parts):
        raise _missing(path)
    try:
        content = build.joinpath(*parts).read_bytes()
    except (OSError, ValueError):
        raise _missing(path) from None
    encodings = {"identity": content}
    if len(content) >= COMPRESSED_FROM:
        encodings["br"] = brotli.compress(content, mode=brotli.MODE_TEXT, quality=BROTLI_QUALITY)
        encodings["gzip"] = gzip.compress(content, mtime=0)
    return ConsoleFile(media_type, MappingProxyType(encodings))


def choose_encoding(accepted: str, available: Mapping[str, bytes]) -> str:
    """Return the smallest encoding of those that a client accepts."""
    wanted = set()
    for part in accepted.lower().split(","):
        name, _, quality = part.replace(" ", "").partition(";q=")
        if quality.rstrip("0.") or not quality:
            wanted.add(name)
    fitting = [name for name in ("br", "gzip") if name in available and name in wanted]
    return min(fitting, key=lambda name: len(available[name])) if fitting else "identity"


def install(app: FastAPI) -> None:
    """Show the console wherever no route of the API matches."""
    console, missing = Console(resources.files("smartspider") / "console" / "dist"), app.router.default

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_console = is_read and is_console_path(scope["path"])
        await (console if is_console else missing)(scope, receive, send)

    app.router.default = answer


def _file_response(file: ConsoleFile, path: str, accepted: str) -> Response:
    encoding = choose_encoding(accepted, file.encodings)
    headers = {"Cache-Control": IMMUTABLE if path.startswith(HASHED) else "no-cache"}
    if len(file.encodings) > 1:
        headers["Vary"] = "Accept-Encoding"
    if encoding != "identity":
        headers["Content-Encoding"] = encoding
    return Response(file.encodings[encoding], headers=headers, media_type=file.media_type)


def _missing(path: str) -> HTTPException:
    return HTTPException(404, f"the console has no file {path[:200]}")
