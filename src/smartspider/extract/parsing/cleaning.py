"""Taking out what no store accepts: NUL and lone surrogates."""

from __future__ import annotations

import re
from typing import Any

INVALID_MARK = "\ufdd0"
"""Stands in a page where a foreign character was. Lexbor would drop a NUL in text and keep it, changed, in
an attribute; a noncharacter passes both, so that values can be cleaned and counted alike."""

_FOREIGN = re.compile(f"[\x00\ud800-\udfff{INVALID_MARK}]")


def clean(value: Any) -> tuple[Any, int]:
    """The value without foreign characters, and how many strings in it had some."""
    if isinstance(value, str):
        if value.isascii() and "\x00" not in value:
            return value, 0
        cleaned, taken = _FOREIGN.subn("", value)
        return cleaned, min(taken, 1)
    if isinstance(value, list | tuple):
        pairs = [clean(inner) for inner in value]
        return [inner for inner, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        total = 0
        whole = {}
        for key, inner in value.items():
            whole[clean(key)[0]], count = clean(inner)
            total += count
        return whole, total
    return value, 0
