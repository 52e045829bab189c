"""Guarding the parser from fragments without end: its time grows with tags times depth."""

from __future__ import annotations

import re

from smartspider.interfaces.step import StepFailed

_HARMLESS = 5_000
_MOST_TAGS = 100_000
_BUDGET = 100_000_000
_TAG = re.compile(r"<(/?)([a-zA-Z]+)")
_ALONE = frozenset("area base br col hr img input link meta source wbr p li dt dd option tr td th".split())


def refuse_too_much(html: str) -> None:
    """Raises `StepFailed` for HTML that would take seconds."""
    tags = html.count("<")
    if tags > _MOST_TAGS:
        raise StepFailed("is HTML with too many tags")
    if tags <= _HARMLESS:
        return
    depth, most = 0, _BUDGET // tags
    for tag in _TAG.finditer(html):
        if tag[2].lower() in _ALONE:
            continue
        depth = max(depth - 1, 0) if tag[1] else depth + 1
        if depth > most:
            raise StepFailed("is HTML that is nested too deep")
