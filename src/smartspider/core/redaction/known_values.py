"""Search for many known values in a text, in time proportional to the length of the text.

A text is cut into words of 4 or 8 bytes. A value is registered with each word that its occurrences can put
at a word boundary, so one set operation in C tells whether a text may contain a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from sys import byteorder
from typing import NamedTuple

MIN_BYTES = 4
PIECE_BYTES = 64
"""Longer values are searched in pieces, so that the work for each byte of a text is bounded."""
MAX_PIECES = 600_000
"""Maximum number of pieces that `RecentValues` keeps. A piece takes about 1 KB."""

Span = tuple[int, int]


class _WordSize(NamedTuple):
    """Words for values of at least `min_bytes`: their size, and the distance between word boundaries."""

    min_bytes: int
    width: int
    stride: int


_SIZES = (_WordSize(15, 8, 8), _WordSize(7, 4, 4), _WordSize(MIN_BYTES, 4, 1))
"""A value of `width + stride - 1` bytes contains a whole word wherever it stands."""


class _Words:
    """The words of values of similar length."""

    def __init__(self, size: _WordSize) -> None:
        self._width, self._stride = size.width, size.stride
        self._format = "Q" if size.width == 8 else "I"
        self._words: set[int] = set()
        self._lengths: dict[bytes, tuple[int, ...]] = {}
        """The lengths of all values that start with a word."""

    def add(self, value: bytes) -> None:
        head, length = value[: self._width], len(value)
        lengths = self._lengths.get(head, ())
        if length not in lengths:
            self._lengths[head] = (*lengths, length)
        for start in range(self._stride):
            self._words.add(int.from_bytes(value[start : start + self._width], byteorder))

    def candidates(self, data: bytes) -> Iterator[Span]:
        """Yield the spans of data that may be values."""
        for shift in range(0, self._width, self._stride):
            count = (len(data) - shift) // self._width
            words = unpack_from(f"{count}{self._format}", data, shift) if count > 0 else ()
            if self._words.isdisjoint(words):
                continue
            for index, word in enumerate(words):
                if word in self._words:
                    yield from self._starts_near(data, shift + index * self._width)

    def _starts_near(self, data: bytes, at: int) -> Iterator[Span]:
        for start in range(max(at - self._stride + 1, 0), at + 1):
            for length in self._lengths.get(data[start : start + self._width], ()):
                if start + length <= len(data):
                    yield start, start + length


class ValueIndex:
    """A set of values that finds their occurrences. A value may have a prefix that stays visible."""

    def __init__(self) -> None:
        self._pieces: dict[bytes, int] = {}
        """Each piece with the length of its visible prefix."""
        self._words: dict[_WordSize, _Words] = {}
        """Replaced when it changes: other threads may search meanwhile."""

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, value: bytes, visible: int = 0) -> None:
        """Add a value of at least `MIN_BYTES`; its first `visible` bytes are not part of what is found."""
        for start in range(0, len(value), PIECE_BYTES):
            piece = value[start : start + PIECE_BYTES]
            if start and len(piece) < PIECE_BYTES:
                piece = value[-PIECE_BYTES:]
            before = self._pieces.get(piece)
            hidden_from = visible if start == 0 else 0
            self._pieces[piece] = hidden_from if before is None else min(before, hidden_from)
            if before is None:
                self._index(piece)

    def _index(self, piece: bytes) -> None:
        size = next(size for size in _SIZES if len(piece) >= size.min_bytes)
        if size not in self._words:
            self._words = {**self._words, size: _Words(size)}
        self._words[size].add(piece)

    def spans(self, data: bytes) -> list[Span]:
        """Return the spans of data that are values, in no order."""
        return [
            (start + self._pieces[data[start:end]], end)
            for words in self._words.values()
            for start, end in words.candidates(data)
            if data[start:end] in self._pieces
        ]


class RecentValues:
    """An index of bounded size: beyond `limit` pieces, values that were not added again are dropped."""

    def __init__(self, limit: int = MAX_PIECES) -> None:
        self._limit = limit
        self._newer, self._older = ValueIndex(), ValueIndex()

    def add(self, value: bytes, visible: int = 0) -> None:
        """Add a value, as in `ValueIndex`."""
        if 2 * len(self._newer) >= self._limit:
            self._newer, self._older = ValueIndex(), self._newer
        self._newer.add(value, visible)

    def spans(self, data: bytes) -> list[Span]:
        """Return the spans of data that are values, in no order."""
        return [*self._newer.spans(data), *self._older.spans(data)]


def replace_spans(data: bytes, spans: list[Span], mark: bytes) -> bytes:
    """Return data with a mark for each run of overlapping or adjacent spans."""
    parts: list[bytes] = []
    at = 0
    for start, end in sorted(spans):
        if start > at or not parts:
            parts += [data[at:start], mark]
        at = max(at, end)
    return b"".join((*parts, data[at:]))
