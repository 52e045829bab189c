"""Values that are nested deeper than the stack is by default."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_DEEP = 20_000
"""Frames for values nested as deep as a worker could read them: its stack may have been shorter."""


def deeply(work: Callable[[Any], T], value: Any) -> T:
    """What `work` makes of a value, however deep it is nested."""
    try:
        return work(value)
    except RecursionError:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, _DEEP))
        try:
            return work(value)
        finally:
            sys.setrecursionlimit(before)
