"""Unpacking compressed bodies piece by piece, never further than asked."""

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
"""Concatenated gzip members or zstd frames in one body; honest bodies have a few."""
_MAX_STAGES = 3
"""Encodings applied one over another."""
_ZSTD_WINDOW_LOG = 23
"""RFC 9659: a window over 8 MB is refused, since it is memory a stranger asks us for."""


class Unpacker(Protocol):
    """Turns packed bytes into plain ones. `feed` stops at `limit` bytes; what it held back is then lost."""

    def feed(self, packed: bytes, limit: int) -> bytes:
        """Plain bytes for packed ones."""

    @property
    def is_complete(self) -> bool:
        """Whether the packed stream may end here."""


class Unpacking:
    """The unpacking of one body: counts what comes out of every stage and stops at `max_bytes`."""

    def __init__(self, stages: list[Unpacker], max_bytes: int) -> None:
        self._stages = stages
        self._room = [max_bytes] * len(stages)
        self._is_started = False
        self.is_over = False
        """There was more than `max_bytes`; what `feed` gave is the start of it."""

    def feed(self, packed: bytes) -> bytes:
        """Plain bytes for the next packed ones; raises `BadEncoding`."""
        piece = packed
        self._is_started = True
        for index, stage in enumerate(self._stages):
            if not piece:
                break
            room = self._room[index]
            try:
                piece = stage.feed(piece, room + 1)
            except (zlib.error, brotli.error, ZstdError, ValueError, EOFError) as error:
                raise BadEncoding(f"the body cannot be unpacked: {error}") from error
            if len(piece) > room:
                self.is_over = True
                piece = piece[:room]
            self._room[index] = room - len(piece)
        return piece

    def finish(self) -> None:
        """Raise `ConnectionDropped` when the packed stream stopped in the middle. An empty body is fine."""
        if self._is_started and not all(stage.is_complete for stage in self._stages):
            raise ConnectionDropped("the compressed body ends too early")


def unpacking_for(content_encoding: str, max_bytes: int) -> Unpacking | None:
    """How to unpack a body with this header; None: nothing to do or, as in browsers, no way known."""
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if not names or len(names) > _MAX_STAGES or not all(name in _UNPACKERS for name in names):
        return None
    return Unpacking([_UNPACKERS[name]() for name in reversed(names)], max_bytes)


class _Gzip:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(31)
        self._parts = 1

    def feed(self, packed: bytes, limit: int) -> bytes:
        if self._stream.eof:
            packed = self._next(packed)
        plain = self._stream.decompress(packed, limit)
        while self._stream.eof and len(plain) < limit and (rest := self._next(self._stream.unused_data)):
            plain += self._stream.decompress(rest, limit - len(plain))
        return plain

    def _next(self, rest: bytes) -> bytes:
        """Begin another member, or nothing at all when what follows is padding, as browsers take it."""
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
    """Both things servers call deflate: with the zlib header (as specified) and without (as often sent)."""

    def __init__(self) -> None:
        self._head = b""
        self._stream = zlib.decompressobj()
        self._is_chosen = False

    def feed(self, packed: bytes, limit: int) -> bytes:
        if not self._is_chosen:
            packed = self._head = self._head + packed
            if len(packed) < 2:
                return b""
            self._is_chosen = True
            if packed[0] & 0x0F != 8 or int.from_bytes(packed[:2], "big") % 31:
                self._stream = zlib.decompressobj(-15)
            self._head = b""
        return b"" if self._stream.eof else self._stream.decompress(packed, limit)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, packed: bytes, limit: int) -> bytes:
        if self._stream.is_finished():
            return b""
        plain: bytes = self._stream.process(packed, output_buffer_limit=limit)
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

    def feed(self, packed: bytes, limit: int) -> bytes:
        if self._stream.eof:
            packed = self._next(packed)
            if not packed:
                return b""
        plain = self._stream.decompress(packed, limit)
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
