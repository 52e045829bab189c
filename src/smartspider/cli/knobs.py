"""Knobs of a run as people write them: `delay_s=1 limits.max_pages=100`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, cast

import msgspec

from smartspider.core.errors import RequestInvalid
from smartspider.views.arguments import LimitArguments, TuningArguments

LIMITS = "limits."
KNOBS = (
    *(name for name in TuningArguments.__annotations__ if name != "limits"),
    *(f"{LIMITS}{name}" for name in LimitArguments.__annotations__),
)


def parse_knobs(texts: Sequence[str]) -> TuningArguments:
    """What they say; `none` and `null` take a rate or a limit away. Raises `RequestInvalid`."""
    knobs: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for text in texts:
        name, is_said, value = text.partition("=")
        if not is_said:
            raise RequestInvalid(f"{text[:60]!r} turns no knob", hint="write it as delay_s=1")
        if name in LimitArguments.__annotations__:
            name = LIMITS + name
        if name not in KNOBS:
            near = get_close_matches(name, KNOBS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KNOBS)}"
            raise RequestInvalid(f"there is no knob {name[:60]!r}", hint=hint)
        (limits if name.startswith(LIMITS) else knobs)[name.removeprefix(LIMITS)] = _number(name, value)
    return cast("KnobWords", knobs | ({"limits": limits} if limits else {}))


def _number(name: str, text: str) -> Any:
    if text.lower() in ("none", "null"):
        return None
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestInvalid(f"{name}: {text[:60]!r} is not a number", hint=f"write it as {name}=4")
    return value
