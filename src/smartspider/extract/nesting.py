"""Guarding the parser from pages that nest without end.

An HTML parser looks through the open elements at every `<div>`, so its time grows with tags times depth: half
a megabyte of unclosed `<div>` takes most of a minute.
"""

from __future__ import annotations

import re

_HARMLESS_BYTES = 65_536
_BUDGET = 400_000_000
"""Tags times depth; about two seconds."""
_CHUNK = 4096
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)")
_FLAT = frozenset(
    b"area base br col embed hr img input link meta source track wbr param "
    b"p li dt dd option optgroup tr td th thead tbody tfoot colgroup rp rt".split()
)
"""Elements that have no end tag, or that the next of their kind ends."""


def is_too_deep(html: bytes) -> bool:
    """Whether parsing would take more than the budget. Costs nothing worth naming for an ordinary page."""
    if len(html) < _HARMLESS_BYTES:
        return False
    tags = html.count(b"<")
    return tags * _depth_bound(html) > _BUDGET and tags * _depth(html, _BUDGET // tags) > _BUDGET


def _depth_bound(html: bytes) -> int:
    """The depth as if every tag without an end tag opened a level, looked at once a chunk."""
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
