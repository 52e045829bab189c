"""Parse JSON in pages: whole bodies, JSONP calls, and values inside scripts."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

DEEPEST = 200
"""The most nested levels; bounds recursion over values later on."""

_GUARD = re.compile(r"\)\]\}'?,?|while\s*\(1\);|for\s*\(;;\);")
"""Prefixes that prevent JSON hijacking."""
_CALL = re.compile(r"(?:/\*.*?\*/\s*)?[\w$.]+\s*\(", re.DOTALL)
_PARSED_TEXT = re.compile(r"JSON\.parse\(\s*(?=[\"'])")
_ASSIGNED = re.compile(r"=\s*(?=[{\[])")
_OPENING = re.compile(r"[{\[]")
_FOREIGN_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b'[]{}"')
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_QUOTED = re.compile(rb'"[^"]*"')
_STRIDE = 128
_TRIES = 20
"""The most positions in a text that are tried as the start of a JSON value."""


class InvalidJson(ValueError):
    """Not JSON, or JSON that cannot be stored; the message gives the reason."""


def read_json(body: bytes) -> Any:
    """Parse a UTF-8 JSON body, also as `callback({...})`; raise `InvalidJson`."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _read_patiently(body.decode(errors="replace"))
    if not _is_shallow(body):
        raise InvalidJson(f"it nests deeper than {DEEPEST} levels")
    return value


def find_json(text: str) -> Any:
    """Return the first JSON value in a text: the whole text, an assigned value, or the argument of
    `JSON.parse`.

    Nothing is evaluated. Raise `InvalidJson` if there is none.
    """
    text = text.strip()
    if text[:1] in "{[":
        try:
            return read_json(text.encode(errors="surrogatepass"))
        except InvalidJson:
            pass
    parsed = _PARSED_TEXT.search(text)
    assigned = _ASSIGNED.search(text)
    if parsed is not None and (assigned is None or parsed.start() < assigned.start()):
        literal = parse_js_string(text, parsed.end())
        if literal is not None:
            return read_json(literal.text.encode(errors="surrogatepass"))
    if assigned is not None:
        try:
            return _decoded_from(text, assigned.end())
        except InvalidJson:
            pass
    for number, opening in enumerate(_OPENING.finditer(text)):
        if number == _TRIES:
            break
        try:
            return _decoded_from(text, opening.start())
        except InvalidJson:
            continue
    raise InvalidJson("there is no JSON value in it")


def has_invalid_escape(text: str) -> bool:
    """Return True if JSON text has an escaped NUL or surrogate."""
    return "\\u" in text and _FOREIGN_ESCAPE.search(text) is not None


def _read_patiently(text: str) -> Any:
    """Parse what the fast parser rejects: lone surrogates, prefixes, calls."""
    text = text.removeprefix("\ufeff").strip()
    guard = _GUARD.match(text)
    if guard is not None:
        text = text[guard.end() :].lstrip()
    call = _CALL.match(text)
    if call is not None:
        value, end = _scanned(text, call.end())
        rest = text[end:].lstrip()
        if rest[:1] != ")" or rest[1:].strip() not in {"", ";"}:
            raise InvalidJson("neither JSON nor JSONP")
        return _checked_depth(value)
    value, end = _scanned(text, 0)
    if text[end:].strip():
        raise InvalidJson(f"unexpected data after the JSON value at position {end}")
    return _checked_depth(value)


def _decoded_from(text: str, start: int) -> Any:
    return _checked_depth(_scanned(text, start)[0])


def _scanned(text: str, start: int) -> tuple[Any, int]:
    while start < len(text) and text[start] in " \t\r\n":
        start += 1
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as wrong:
        raise InvalidJson(f"{wrong.msg.lower()} at position {wrong.pos}") from None
    except RecursionError:
        raise InvalidJson(f"it nests deeper than {DEEPEST} levels") from None
    except InvalidJson:
        raise
    except ValueError:  # Python converts no integer of more digits than `sys.get_int_max_str_digits`
        raise InvalidJson("an integer in it has more than 4,000 digits") from None
    return value, end


def _refuse_constant(name: str) -> Any:
    raise InvalidJson(f"{name} is not a JSON value")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidJson(f"the number {digits[:40]} is out of range")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _is_shallow(body: bytes) -> bool:
    """Check the nesting of valid JSON by its brackets alone."""
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return True
    if b"\\" in body:
        body = _ESCAPED.sub(b"", body)
    # Strings without brackets are two quotes now; removing such a pair moves no other bracket into a string.
    brackets = body.translate(None, _NOT_BRACKETS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = _QUOTED.sub(b"", brackets)
    depth = 0
    for start in range(0, len(brackets), _STRIDE):
        part = brackets[start : start + _STRIDE]
        opened = part.count(b"[") + part.count(b"{")
        if depth + opened > DEEPEST and _highest(part) + depth > DEEPEST:
            return False
        depth += 2 * opened - len(part)
    return True


def _highest(brackets: bytes) -> int:
    return max(accumulate(1 if bracket in b"[{" else -1 for bracket in brackets))


def _checked_depth(value: Any) -> Any:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return value
    raise InvalidJson(f"it nests deeper than {DEEPEST} levels")


_LITERAL = re.compile(
    r'"(?P<double>(?:[^"\\\n]|\\(?:\r\n|.))*+)"'
    r"|'(?P<single>(?:[^'\\\n]|\\(?:\r\n|.))*+)'"
    r"|`(?P<plain>(?:[^`\\$]|\\.)*+)`",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_LETTERS = {
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0",
    "\n": "", "\r": "", "\r\n": "",
}  # fmt: skip


class JsString(NamedTuple):
    """The text of a literal, and the position after it."""

    text: str
    end: int


def parse_js_string(script: str, start: int) -> JsString | None:
    """Parse the string literal at a position; None if there is none, or it needs evaluation."""
    found = _LITERAL.match(script, start)
    if found is None:
        return None
    text = found[found.lastgroup or 0]
    if "\\" in text:
        # Surrogates are escaped one by one; a pair is one character.
        text = _ESCAPE.sub(_unescaped, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return JsString(text, found.end())


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _LETTERS.get(escape[4], escape[4])
    number = int(code, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"
