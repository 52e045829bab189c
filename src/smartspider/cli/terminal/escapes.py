"""Printed text: control characters of others are shown escaped, our own colours are applied.

`mark_colour` marks a text with characters that Unicode reserves for internal use. Standard streams turn them
into colour codes, and escape everything else that a terminal would obey.
"""

from __future__ import annotations

import re

from smartspider.core.control_characters import CONTROLS, escape_match

_COLOURS = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}
_MARKS = {name: chr(0xFDD0 + place) for place, name in enumerate(_COLOURS)}
_END = "\ufdef"
_CODES = {
    **{_MARKS[name]: f"\x1b[{code}m" for name, code in _COLOURS.items()},
    _END: "\x1b[0m",
}


def mark_colour(text: str, colour: str) -> str:
    """Return a text marked with a colour."""
    return f"{_MARKS[colour]}{text}{_END}"


def printable(text: str, *, has_colour: bool = False) -> str:
    """Return a text in which a terminal obeys nothing but our own colours. A carriage return before a line
    feed is dropped.
    """
    if text.isascii() and text.isprintable():
        return text
    return CONTROLS.sub(_coloured if has_colour else escape_match, text.replace("\r\n", "\n"))


def _coloured(found: re.Match[str]) -> str:
    return _CODES.get(found[0]) or escape_match(found)
