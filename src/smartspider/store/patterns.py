"""Patterns of texts that contain a part."""

from __future__ import annotations


def like_pattern(part: str, *, is_folded: bool = True) -> str:
    """Return the pattern of texts with a part: of texts in lower case, or as it is written."""
    text = part.lower() if is_folded else part
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
