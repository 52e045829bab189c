"""JavaScript string literals, in which scripts hand JSON to `JSON.parse`."""

from __future__ import annotations

import re
from typing import NamedTuple

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
    """The text that a literal means, and where the script goes on."""

    text: str
    end: int


def js_string(script: str, start: int) -> JsString | None:
    """The string literal at a position; None when there is none, or one that has to be evaluated."""
    found = _LITERAL.match(script, start)
    if found is None:
        return None
    text = found[found.lastgroup or 0]
    if "\\" in text:
        # Escapes of a pair of surrogates come one by one; together they are one character.
        text = _ESCAPE.sub(_unescaped, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return JsString(text, found.end())


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _LETTERS.get(escape[4], escape[4])
    number = int(code, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"
