"""What plug-ins give must be plain: values that JSON and every store can hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from smartspider.interfaces.step import Around, StepFailed

_DEEPEST = 64


def guarded(treat: Callable[[Any, Around], Any]) -> Callable[[Any, Around], Any]:
    """The same treatment, whose results are looked at."""

    def treated(value: Any, around: Around) -> Any:
        new = treat(value, around)
        if new is not value:
            refuse_foreign(new)
        return new

    return treated


def refuse_foreign(value: Any, depth: int = 0) -> None:
    """Raises `StepFailed` for a value that no store can hold."""
    if depth > _DEEPEST:
        raise StepFailed("became a value that is nested too deep")
    match value:
        case None | bool() | int():
            return
        case float() if math.isfinite(value):
            return
        case str() if value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value):
            return
        case list():
            for inner in value:
                refuse_foreign(inner, depth + 1)
        case dict() if all(isinstance(key, str) for key in value):
            for inner in value.values():
                refuse_foreign(inner, depth + 1)
        case _:
            raise StepFailed(f"became a value of type {type(value).__name__} that cannot be stored")
