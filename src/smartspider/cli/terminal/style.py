"""Colours of states and errors, on terminals that have them."""

from __future__ import annotations

import os
from typing import TextIO

STATE_COLOURS = {
    "running": "cyan",
    "queued": "cyan",
    "paused": "yellow",
    "stopping": "yellow",
    "stopped": "yellow",
    "cancelled": "yellow",
    "completed": "green",
    "failed": "red",
}
_CODES = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}


def has_colour(stream: TextIO) -> bool:
    """Return True if a stream shows colours: a terminal, unless NO_COLOR is set; or FORCE_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str | None, stream: TextIO) -> str:
    """Return the text in a colour if the stream shows colours."""
    code = _CODES.get(colour or "")
    return text if code is None or not has_colour(stream) else f"\x1b[{code}m{text}\x1b[0m"


def coloured_state(state: str, stream: TextIO, *, width: int = 0) -> str:
    """Return the state of a run in its colour, padded to a width."""
    return coloured(f"{state:<{width}}", STATE_COLOURS.get(state), stream)
