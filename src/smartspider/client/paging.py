"""Iteration over paginated lists."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TypeVar

from smartspider.views.listed import Listed

T = TypeVar("T")

PAGE = 500


async def all_of(page: Callable[[str | None], Awaitable[Listed[T]]]) -> AsyncGenerator[T]:
    """Yield all items of a list; `page` fetches the page at a cursor."""
    cursor: str | None = None
    while True:
        found = await page(cursor)
        for one in found.items:
            yield one
        cursor = found.next
        if cursor is None:
            return
