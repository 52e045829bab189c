"""Decompress bodies incrementally, up to a limit."""

from __future__ import annotations

import sys
import zlib
from typing import Protocol

import brotli  # type: ignore[import-untyped] # the library ships no types

from smartspider.core.errors import BadEncoding, ConnectionDropped

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

ACCEPT_ENCODING = "gzip, deflate, br, zstd"

_MAX_PARTS = 1000
"""Maximum concatenated gzip members or zstd frames of a body; real ones have a few."""
_MAX_STAGES = 3
"""Maximum stacked content encodings."""
_ZSTD_WINDOW_LOG = 23
"""RFC 9659: windows over 8 MB are refused, to bound memory."""


class Decompressor(Protocol):
    """Decompresses a stream. `feed` stops at `limit` bytes; the rest is lost."""

    def feed(self, compressed: bytes, limit: int) -> bytes:
        """Return decompressed bytes."""

    @property
    def is_complete(self) -> bool:
        """True if the compressed stream may end here."""


class BodyDecompressor:
    """Decompresses one body: counts the output of every stage and stops at `max_bytes`."""

    def __init__(self, stages: list[Decompressor], max_bytes: int) -> None:
        self._stages = stages
        self._room = [max_bytes] * len(stages)
        self._is_started = False
        self.is_too_large = False
        """The body exceeds `max_bytes`; `feed` returned its start."""

    def feed(self, compressed: bytes) -> bytes:
        """Return the next decompressed bytes; raise `BadEncoding`."""
        piece = compressed
        self._is_started = True
        for index, stage in enumerate(self._stages):
            if not piece:
                break
            room = self._room[index]
            try:
                piece = stage.feed(piece, room + 1)
            except (zlib.error, brotli.error, ZstdError, ValueError, EOFError) as error:
                raise BadEncoding(f"the body cannot be decompressed: {error}") from error
            if len(piece) > room:
                self.is_too_large = True
                piece = piece[:room]
            self._room[index] = room - len(piece)
        return piece

    def finish(self) -> None:
        """Raise `ConnectionDropped` if the stream ended in the middle. An empty body is valid."""
        if self._is_started and not all(stage.is_complete for stage in self._stages):
            raise ConnectionDropped("the compressed body ends too early")


def decompressor_for(content_encoding: str, max_bytes: int) -> BodyDecompressor | None:
    """Return a decompressor for a Content-Encoding; None if there is nothing to do or, as in browsers, the
    encoding is unknown.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if not names or len(names) > _MAX_STAGES or not all(name in _UNPACKERS for name in names):
        return None
    return BodyDecompressor([_UNPACKERS[name]() for name in reversed(names)], max_bytes)


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(31)
        self._parts = 1

    def feed(self, compressed: bytes, limit: int) -> bytes:
        if self._stream.eof:
            compressed = self._next(compressed)
        plain = self._stream.decompress(compressed, limit)
        while self._stream.eof and len(plain) < limit and (rest := self._next(self._stream.unused_data)):
            plain += self._stream.decompress(rest, limit - len(plain))
        return plain

    def _next(self, rest: bytes) -> bytes:
        """Start the next member, or stop if the rest is padding, as browsers do."""
        if not rest.startswith(b"\x1f"):
            return b""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise ValueError("too many gzip members")
        self._stream = zlib.decompressobj(31)
        return rest

    @property
    def is_complete(self) -> bool:
        return self._stream.eof


class _Deflate:
    """Both formats that servers call deflate: with the zlib header (as specified) and without (as often
    sent).
    """

    def __init__(self) -> None:
        self._head = b""
        self._stream = zlib.decompressobj()
        self._is_chosen = False

    def feed(self, compressed: bytes, limit: int) -> bytes:
        if not self._is_chosen:
            compressed = self._head = self._head + compressed
            if len(compressed) < 2:
                return b""
            self._is_chosen = True
            if compressed[0] & 0x0F != 8 or int.from_bytes(compressed[:2], "big") % 31:
                self._stream = zlib.decompressobj(-15)
            self._head = b""
        return b"" if self._stream.eof else self._stream.decompress(compressed, limit)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, compressed: bytes, limit: int) -> bytes:
        if self._stream.is_finished():
            return b""
        plain: bytes = self._stream.process(compressed, output_buffer_limit=limit)
        return plain

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.is_finished())


class _Zstd:
    def __init__(self) -> None:
        self._stream = self._fresh()
        self._parts = 1

    @staticmethod
    def _fresh() -> ZstdDecompressor:
        return ZstdDecompressor(options={DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    def feed(self, compressed: bytes, limit: int) -> bytes:
        if self._stream.eof:
            compressed = self._next(compressed)
            if not compressed:
                return b""
        plain = self._stream.decompress(compressed, limit)
        while self._stream.eof and len(plain) < limit and (rest := self._next(self._stream.unused_data)):
            plain += self._stream.decompress(rest, limit - len(plain))
        return plain

    def _next(self, rest: bytes) -> bytes:
        if not rest:
            return b""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise ValueError("too many zstd frames")
        self._stream = self._fresh()
        return rest

    @property
    def is_complete(self) -> bool:
        return self._stream.eof


_UNPACKERS: dict[str, type[_Gzip | _Deflate | _Brotli | _Zstd]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
