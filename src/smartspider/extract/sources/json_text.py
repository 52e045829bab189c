"""Lenient JSON: with comments, inside comments, with surplus commas, in the middle of a script."""

from __future__ import annotations

import html
import json
import math
import re
from typing import Any, NamedTuple

import msgspec

DEEPEST = 100
"""The most nested levels."""

_WRAPPING = re.compile(
    r"\s*(?:\ufeff|<!--|-->|//\s*(?:<!\[CDATA\[|\]\]>|<!--|-->)|/\*\s*(?:<!\[CDATA\[|\]\]>)\s*\*/|<!\[CDATA\[|\]\]>|;)"
)
_END_WRAPPING = re.compile(r"(?:-->|//\s*\]\]>|//\s*-->|/\*\s*\]\]>\s*\*/|\]\]>|;|\s)+\Z")
_ODDITY = re.compile(
    r'"(?:[^"\\]|\\(?:.|\Z))*+(?:"|\Z)'
    r"|(?P<comma>,(?=\s*+[}\]]))"
    r"|\b(?P<nothing>undefined|NaN|-?Infinity)\b",
    re.DOTALL,
)
_COMMENT = re.compile(
    r'(?P<text>"(?:[^"\\]|\\(?:.|\Z))*+(?:"|\Z))|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|//[^\n\r]*+|<!--|-->',
    re.DOTALL,
)
_MENDABLE = (",", "}", "]", "undefined", "-Infinity", "/", "<!--", "-->")
_TAIL = 256
_lenient = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


class EmbeddedJson(NamedTuple):
    """A JSON value in a longer text, and the position after it."""

    value: Any
    end: int


class InvalidEmbeddedJson(ValueError):
    """The text has no readable JSON; `at` is the position reached."""

    def __init__(self, at: int) -> None:
        super().__init__(f"not JSON at {at}")
        self.at = at


def parse_loose_json(text: str) -> Any:
    """Return the JSON value of a script element, ignoring its wrapping; raise `InvalidEmbeddedJson`."""
    start = 0
    while (found := _WRAPPING.match(text, start)) is not None:
        start = found.end()
    tail = text[max(start, len(text) - _TAIL) :]
    cut = _END_WRAPPING.search(tail)
    core = text[start : len(text) - (len(tail) - cut.start() if cut is not None else 0)]
    if "&quot;" in core and '"' not in core:
        core = html.unescape(core)
    try:
        return _bounded(msgspec.json.decode(core))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return find_first_json(core, 0).value


def find_first_json(text: str, start: int) -> EmbeddedJson:
    """Return the first JSON value from a position on; accepts `undefined`, NaN, surplus commas, comments."""
    try:
        value, end = _lenient.raw_decode(text, _skip_space(text, start))
    except json.JSONDecodeError as error:
        return _repaired(text, start, error.pos)
    except (ValueError, RecursionError):
        # Too many digits, or nested without end.
        raise InvalidEmbeddedJson(start) from None
    return EmbeddedJson(_bounded(value), end)


def _repaired(text: str, start: int, broken_at: int) -> EmbeddedJson:
    if not text.startswith(_MENDABLE, broken_at):
        raise InvalidEmbeddedJson(broken_at)
    mended = text[start:]
    if "/" in mended or "--" in mended:
        mended = _COMMENT.sub(lambda found: found["text"] or " ", mended)
    mended = _ODDITY.sub(_mend, mended)
    try:
        value, end = _lenient.raw_decode(mended, _skip_space(mended, 0))
    except json.JSONDecodeError as error:
        raise InvalidEmbeddedJson(start + error.pos) from None
    except (ValueError, RecursionError):
        raise InvalidEmbeddedJson(start) from None
    # Repairs change lengths, so the end is a lower bound.
    return EmbeddedJson(_bounded(value), min(start + end, len(text)))


def _mend(found: re.Match[str]) -> str:
    if found["nothing"] is not None:
        return "null"
    return "" if found["comma"] is not None else found[0]


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _bounded(value: Any) -> Any:
    """Replace infinite numbers with null; raise `InvalidEmbeddedJson` if it is nested too deep."""
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for holder in level:
            entries = (
                holder.values() if isinstance(holder, dict) else holder if isinstance(holder, list) else ()
            )
            inner += [entry for entry in entries if isinstance(entry, dict | list)]
            if any(isinstance(entry, float) and not math.isfinite(entry) for entry in entries):
                _null_the_endless(holder)
        if not inner:
            return value
        level = inner
    raise InvalidEmbeddedJson(0)


def _null_the_endless(holder: Any) -> None:
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        if isinstance(holder[key], float) and not math.isfinite(holder[key]):
            holder[key] = None
