"""Decompress bodies incrementally, up to a limit, and as leniently as browsers.

A body that is cut yields what came, and checksums are not compared.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Protocol

import brotli  # type: ignore[import-untyped] # the library ships no types

from smartspider.core.errors import BadEncoding

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

    name: str

    def feed(self, compressed: bytes, limit: int) -> bytes:
        """Return decompressed bytes."""

    def drain(self, nothing: bytes, limit: int) -> bytes:
        """Return bytes that were decompressed and held back."""

    @property
    def is_complete(self) -> bool:
        """True if the compressed stream may end here."""


class BodyDecompressor:
    """Decompresses one body: counts the output of every stage and stops at `max_bytes`."""

    def __init__(self, stages: list[Decompressor], max_bytes: int) -> None:
        self._stages = stages
        self._max_bytes = max_bytes
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
            piece = self._run(index, stage.feed, piece)
        return piece

    def finish(self) -> bytes:
        """Return the rest of a body that is cut. Raise `BadEncoding` if it ended before anything could be
        decompressed; an empty body is valid.
        """
        if not self._is_started or all(stage.is_complete for stage in self._stages):
            return b""
        piece = b""
        for index, stage in enumerate(self._stages):
            piece = self._run(index, stage.feed, piece) + self._run(index, stage.drain, b"")
        if self._room[-1] == self._max_bytes:
            raise BadEncoding("the body cannot be decompressed: it ends before its text begins")
        return piece

    def _run(self, index: int, step: Callable[[bytes, int], bytes], data: bytes) -> bytes:
        """Return the output of a stage, counted."""
        room = self._room[index]
        try:
            piece = step(data, room + 1)
        except ValueError as error:
            raise BadEncoding(f"the body cannot be decompressed: {error}") from error
        except (zlib.error, brotli.error, ZstdError, EOFError) as error:
            name = self._stages[index].name
            raise BadEncoding(f"the body cannot be decompressed: it is not valid {name}") from error
        if len(piece) > room:
            self.is_too_large = True
            piece = piece[:room]
        self._room[index] = room - len(piece)
        return piece


def decompressor_for(content_encoding: str, max_bytes: int) -> BodyDecompressor | None:
    """Return a decompressor for a Content-Encoding; None if there is nothing to do or, as in browsers, the
    encoding is unknown.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name and name != "identity"]
    if not names or len(names) > _MAX_STAGES or not all(name in _UNPACKERS for name in names):
        return None
    return BodyDecompressor([_UNPACKERS[name]() for name in reversed(names)], max_bytes)


class _HoldsNothing:
    def drain(self, nothing: bytes, limit: int) -> bytes:  # noqa: ARG002 - a part of `Decompressor`
        return b""


class _Gzip(_HoldsNothing):
    """Reads members one after the other. Bytes that do not begin another member are padding."""

    name = "gzip"

    def __init__(self) -> None:
        self._stream = _NO_STREAM
        self._header = b""
        """The start of a member's header, until it is complete."""
        self._footer = 0
        """Bytes of a member's checksum and length that are still to come; browsers skip them."""
        self._parts = 0

    def feed(self, compressed: bytes, limit: int) -> bytes:
        plain = b""
        while compressed and len(plain) < limit:
            if self._stream.eof:
                compressed = self._start_member(compressed)
            else:
                plain += self._stream.decompress(compressed, limit - len(plain))
                compressed = self._stream.unused_data
                self._footer = _GZIP_FOOTER
        return plain

    def _start_member(self, rest: bytes) -> bytes:
        """Skip the footer and read the header of the next member; return the bytes behind it."""
        skipped = min(self._footer, len(rest))
        self._footer -= skipped
        rest = self._header + rest[skipped:]
        if not _GZIP_BEGIN.startswith(rest[:2]):
            if not self._parts:
                raise ValueError("it is not gzip, although Content-Encoding says so")
            return b""
        end = _gzip_header_end(rest)
        self._header = rest if end is None else b""
        if end is None:
            return b""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise ValueError("too many gzip members")
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        return rest[end:]

    @property
    def is_complete(self) -> bool:
        return self._parts > 0 and self._stream.eof


_GZIP_BEGIN = b"\x1f\x8b"
_GZIP_FOOTER = 8
_NO_STREAM = zlib.decompressobj(-zlib.MAX_WBITS)
_NO_STREAM.decompress(b"\x03\x00")  # an empty stream that has ended


def _gzip_header_end(data: bytes) -> int | None:
    """Return where the compressed bytes of a member begin; None if its header is not complete."""
    if len(data) < 10:
        return None
    flags, end = data[3], 10
    if flags & 4:
        end += 2 + int.from_bytes(data[10:12], "little")
    for flag in (8, 16):
        if flags & flag:
            end = data.find(b"\0", end) + 1
            if not end:
                return None
    if flags & 2:
        end += 2
    return end if end <= len(data) else None


class _Deflate(_HoldsNothing):
    """Both formats that servers call deflate: with the zlib header (as specified) and without (as often
    sent).
    """

    name = "deflate"

    def __init__(self) -> None:
        self._head = b""
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        self._is_chosen = False

    def feed(self, compressed: bytes, limit: int) -> bytes:
        if not self._is_chosen:
            compressed = self._head = self._head + compressed
            if len(compressed) < 2:
                return b""
            self._is_chosen = True
            if compressed[0] & 0x0F == 8 and int.from_bytes(compressed[:2], "big") % 31 == 0:
                compressed = compressed[2:]
            self._head = b""
        return b"" if self._stream.eof else self._stream.decompress(compressed, limit)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof


class _Brotli:
    name = "Brotli"

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, compressed: bytes, limit: int) -> bytes:
        if self._stream.is_finished():
            return b""
        plain: bytes = self._stream.process(compressed, output_buffer_limit=limit)
        return plain

    def drain(self, nothing: bytes, limit: int) -> bytes:
        plain = b""
        while len(plain) < limit and (piece := self.feed(nothing, limit - len(plain))):
            plain += piece
        return plain

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.is_finished())


class _Zstd(_HoldsNothing):
    name = "Zstandard"

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
