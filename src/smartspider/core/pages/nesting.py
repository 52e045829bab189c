"""Protection against deep nesting, of HTML and of values.

An HTML parser scans the open elements at every `<div>`, so its time grows with tags times depth: half a
megabyte of unclosed `<div>` takes most of a minute.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

PARSE_BUDGET = 400_000_000
"""Tags times depth that take about two seconds to parse."""
_SHORTEST_TAG = 3
_CHUNK = 4096
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)")
_FLAT = frozenset(
    b"area base br col embed hr img input link meta source track wbr param "
    b"p li dt dd option optgroup tr td th thead tbody tfoot colgroup rp rt".split()
)
"""Elements without an end tag, or closed by the next element of their kind."""


def is_too_deep(html: bytes, budget: int = PARSE_BUDGET) -> bool:
    """Return whether parsing would exceed the budget. The cost for an ordinary page is negligible."""
    if (len(html) // _SHORTEST_TAG) ** 2 <= budget:
        return False
    tags = html.count(b"<")
    return tags * _depth_bound(html) > budget and tags * _depth(html, budget // tags) > budget


def _depth_bound(html: bytes) -> int:
    """Return an upper bound of the depth: every tag without an end tag opens a level, counted per chunk."""
    depth = deepest = 0
    for start in range(0, len(html), _CHUNK):
        end = start + _CHUNK
        depth = max(depth + html.count(b"<", start, end) - 2 * html.count(b"</", start, end), 0)
        deepest = max(deepest, depth)
    return deepest


def _depth(html: bytes, enough: int) -> int:
    depth = deepest = 0
    for tag in _TAG.finditer(html):
        if tag[2].lower() in _FLAT:
            continue
        depth = max(depth - 1, 0) if tag[1] else depth + 1
        if depth > deepest:
            deepest = depth
            if deepest > enough:
                break
    return deepest


T = TypeVar("T")

_DEEP = 20_000
"""Enough frames for any value a worker can read; its own stack may have been shorter."""


def call_deep(work: Callable[[Any], T], value: Any) -> T:
    """Return `work(value)`; retry with a higher recursion limit if the value is nested too deep."""
    try:
        return work(value)
    except RecursionError:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _DEEP))
        try:
            return work(value)
        finally:
            sys.setrecursionlimit(before)
