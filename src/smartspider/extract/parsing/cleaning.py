"""Remove characters that no store accepts: NUL and lone surrogates."""

from __future__ import annotations

import re
from typing import Any

INVALID_MARK = "\ufdd0"
"""Replaces an invalid character in a page. Lexbor would drop a NUL in text and change it in an attribute; it
keeps a noncharacter in both, so values can be cleaned and counted.
"""

_FOREIGN = re.compile(f"[\x00\ud800-\udfff{INVALID_MARK}]")


def clean(value: Any) -> tuple[Any, int]:
    """Return the value without invalid characters, and the number of strings that had some."""
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
