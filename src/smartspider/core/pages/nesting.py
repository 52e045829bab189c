"""Calls that need more stack than usual, because a value is nested deep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

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
