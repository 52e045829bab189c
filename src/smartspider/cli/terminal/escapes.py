"""Control characters in printed text: those of others are shown escaped, our own colours are applied.

`mark_colour` marks a text with characters that Unicode reserves for internal use. Standard streams turn them
into colour codes, and escape everything else that a terminal would obey.
"""

from __future__ import annotations

import re

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}
_MARKS = {name: chr(0xFDD0 + place) for place, name in enumerate(_COLOURS)}
_END = "\ufdef"
_CODES = {
    **{_MARKS[name]: f"\x1b[{code}m" for name, code in _COLOURS.items()},
    _END: "\x1b[0m",
}
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""C0 and C1 controls except tab and line feed, bidirectional controls, line separators, tags, our marks."""


def mark_colour(text: str, colour: str) -> str:
    """Return a text marked with a colour."""
    return f"{_MARKS[colour]}{text}{_END}"


def escape_controls(text: str, *, has_colour: bool = False) -> str:
    r"""Return a text in which a terminal obeys nothing but our own colours: other control characters are
    written as in JSON, `\u001b`. A carriage return before a line feed is dropped.
    """
    if text.isascii() and text.isprintable():
        return text
    return _OBEYED.sub(_coloured if has_colour else _escaped, text.replace("\r\n", "\n"))


def _coloured(found: re.Match[str]) -> str:
    return _CODES.get(found[0]) or _escaped(found)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
