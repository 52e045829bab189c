"""What a link rule found, before it becomes a request."""

from __future__ import annotations

from typing import NamedTuple


class FoundLink(NamedTuple):
    """A value that leads somewhere, and the number of the item it was found in (None: in the page).

    `item` counts all items of the page, rejected ones included.
    """

    value: str
    item: int | None = None
