"""Characters and flags in the parsed form of a regular expression."""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants, _parser  # type: ignore[attr-defined] # the only parser that agrees with `re`
from typing import Any

codes: Any = _constants
"""The kinds of nodes."""
Nodes = Any
"""A sequence of `(code, argument)` pairs, as `re` parses it."""

REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
UNBOUNDED = codes.MAXREPEAT
FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII
"""The flags that change what a parsed node matches."""

_ASCII = "".join(map(chr, range(128)))
_CLASSES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def parse(pattern: str, flags: int = 0) -> tuple[Nodes, int]:
    """Return the nodes of a valid pattern, and its flags with those that it sets itself."""
    tree = _parser.parse(pattern, flags)
    return tree, tree.state.flags & FLAGS


def is_character(code: Any) -> bool:
    """Return whether a node matches exactly one character."""
    return code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)


def group_flags(flags: int, added: int, removed: int) -> int:
    """Return the flags inside a group."""
    return (flags | added) & ~removed


def escaped(code: int) -> str:
    """Return a character as an escape that `re` and `regex` read alike."""
    return f"\\U{code:08x}"


def write_character(code: Any, argument: Any, classes: dict[Any, str] = _CLASSES) -> str:
    r"""Return the source of a node that matches one character. `classes` are the sources of `\w` and such,
    which may be used inside brackets.
    """
    if code is codes.LITERAL:
        return escaped(argument)
    if code is codes.NOT_LITERAL:
        return f"[^{escaped(argument)}]"
    if code is codes.ANY:
        return "."
    parts = ["["]
    for kind, value in argument:
        if kind is codes.NEGATE:
            parts.append("^")
        elif kind is codes.LITERAL:
            parts.append(escaped(value))
        elif kind is codes.RANGE:
            parts.append(f"{escaped(value[0])}-{escaped(value[1])}")
        else:
            parts.append(classes[value])
    return "".join(parts) + "]"


def write_count(low: int, high: Any) -> str:
    """Return the source of the counts of a repeat."""
    return f"{{{low},{'' if high is UNBOUNDED else high}}}"


def ascii_matches(code: Any, argument: Any, flags: int) -> frozenset[str]:
    """Return the ASCII characters that a node matches."""
    return _ascii_matches(write_character(code, argument), flags & (re.IGNORECASE | re.DOTALL | re.ASCII))


def may_match_beyond_ascii(code: Any, argument: Any, flags: int) -> bool:
    """Return False if a node surely matches no character beyond ASCII."""
    if code is codes.LITERAL:
        return argument > 127 or bool(flags & re.IGNORECASE)
    if code is not codes.IN or flags & re.IGNORECASE:
        return True
    return any(
        kind not in (codes.LITERAL, codes.RANGE) or (value if kind is codes.LITERAL else value[1]) > 127
        for kind, value in argument
    )


@lru_cache(maxsize=2048)
def _ascii_matches(source: str, flags: int) -> frozenset[str]:
    # `re` itself decides, so that case and classes are exactly its own.
    return frozenset(re.compile(source, flags).findall(_ASCII))
