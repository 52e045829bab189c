"""Where items go."""

from __future__ import annotations

from typing import Protocol

from smartspider.core.extraction import Item


class Sink(Protocol):
    """1. Rows appear whole or not at all: nothing is visible under the final name before `commit`.
    2. `abort` leaves nothing behind.
    3. `write` and `write_encoded` of the same item give the same row.
    """

    def write(self, item: Item) -> None:
        """Take one row."""

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it: an item as one JSON object, its fields in task order."""

    def commit(self) -> None:
        """Make all rows visible."""

    def abort(self) -> None:
        """Forget all rows."""
