"""Texts as values have them."""

from __future__ import annotations

import json
from typing import Any

import msgspec


def collapsed(text: str) -> str:
    """The text trimmed, with every run of whitespace one space."""
    if text.isprintable() and "  " not in text:
        # Whitespace other than the space is not printable: nothing to collapse, at a fraction of the cost.
        return text.strip(" ")
    return " ".join(text.split())


def as_text(value: Any) -> str:
    """A JSON value as text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        # A lone surrogate, which is taken out later.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
