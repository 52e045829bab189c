"""Where items go."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.extraction import Item


class OutputOptions(msgspec.Struct, frozen=True):
    """How files are written; the same for all files of a command."""

    has_envelope: bool = False
    """Rows stand beside where they come from: url, run, fingerprint, time, data."""
    is_for_excel: bool = False
    """CSV begins with a byte order mark, and no text in it can be taken for a formula."""
    delimiter: str = ","
    """What stands between the cells of a CSV line: one character."""
    split_rows: int | None = None
    """A new file begins after so many rows."""
    split_mb: float | None = None
    """A new file begins when one has reached so many megabytes, before any compression."""

    @property
    def is_split(self) -> bool:
        """Whether rows go to numbered files."""
        return self.split_rows is not None or self.split_mb is not None


PLAIN = OutputOptions()


class Sink(Protocol):
    """1. Rows appear whole or not at all: nothing is visible under the final name before `commit`.
    2. `abort` leaves nothing behind.
    3. `write` and `write_encoded` of the same item give the same row.
    4. After `seal` everything is safely on disk; what `commit` then does is to give it its name.
    """

    def write(self, item: Item) -> None:
        """Take one row."""

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it: an item as one JSON object, its fields in task order."""

    def seal(self) -> None:
        """Take no more rows, and be ready for `commit`; a second time changes nothing."""

    def commit(self) -> None:
        """Make all rows visible; seals first."""

    def abort(self) -> None:
        """Forget all rows."""

    def size(self) -> int:
        """About how many bytes the rows take so far, before compression."""

    def files(self) -> list[str]:
        """The names of what `commit` makes visible."""

    def notes(self) -> list[str]:
        """What a person should know about the files, once sealed: one line each."""
