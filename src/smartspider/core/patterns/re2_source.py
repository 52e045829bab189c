"""Write a regular expression for RE2, so that it matches ASCII texts as `re` does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from smartspider.core.patterns.syntax import (
    UNBOUNDED,
    Nodes,
    ascii_matches,
    codes,
    group_flags,
    is_character,
    write_count,
)


class Untranslatable(Exception):
    """RE2 cannot match this as `re` does."""


_MAX_RE2_REPEAT = 1000


def to_re2(nodes: Nodes, flags: int) -> str:
    """Return a pattern for RE2 that matches ASCII texts as `re` does; a text that ends in a line break only
    if the pattern has no `$`. Raise `Untranslatable`.
    """
    return "".join(_re2_node(node, flags) for node in nodes)


def _re2_node(node: Any, flags: int) -> str:
    code, argument = node
    if is_character(code):
        return _re2_class(ascii_matches(code, argument, flags))
    if code is codes.AT:
        return _RE2_PLACES[argument, bool(flags & re.MULTILINE)]
    if code is codes.BRANCH:
        return f"(?:{'|'.join(to_re2(branch, flags) for branch in argument[1])})"
    if code is codes.SUBPATTERN:
        group, added, removed, inner = argument
        return f"({'' if group else '?:'}{to_re2(inner, group_flags(flags, added, removed))})"
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        low, high, body = argument
        if low > _MAX_RE2_REPEAT or (high is not UNBOUNDED and high > _MAX_RE2_REPEAT):
            raise Untranslatable("a repeat is too long for RE2")
        if body.getwidth()[0] == 0:
            raise Untranslatable("engines differ in empty rounds of a repeat")
        lazy = "?" if code is codes.MIN_REPEAT else ""
        return f"(?:{to_re2(body, flags)}){write_count(low, high)}{lazy}"
    raise Untranslatable(f"RE2 has no {str(code).lower()}")


_RE2_PLACES = {
    (place, is_multiline): source
    for place, sources in {
        codes.AT_BEGINNING: (r"\A", "(?m:^)"),
        codes.AT_BEGINNING_STRING: (r"\A", r"\A"),
        codes.AT_END: (r"\z", "(?m:$)"),
        codes.AT_END_STRING: (r"\z", r"\z"),
        codes.AT_BOUNDARY: (r"\b", r"\b"),
        codes.AT_NON_BOUNDARY: (r"\B", r"\B"),
    }.items()
    for is_multiline, source in zip((False, True), sources, strict=True)
}


def _re2_class(characters: Iterable[str]) -> str:
    members = sorted(map(ord, characters))
    if not members:
        return r"[^\x00-\xff]"
    if len(members) == 1:
        return f"\\x{members[0]:02x}"
    ranges: list[tuple[int, int]] = []
    for member in members:
        if ranges and ranges[-1][1] == member - 1:
            ranges[-1] = (ranges[-1][0], member)
        else:
            ranges.append((member, member))
    return "[" + "".join(f"\\x{low:02x}-\\x{high:02x}" for low, high in ranges) + "]"
