"""Paginated lists."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Listed(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list. `next` is the cursor of the next page; null on the last page."""

    items: list[T]
    next: str | None
