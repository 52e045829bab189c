"""Writing items to a file that the user named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Item


class OutputOptions(msgspec.Struct, frozen=True):
    """Options of the files that one command writes."""

    has_envelope: bool = False
    """Write each item with its origin: url, run, fingerprint, time, data."""
    is_for_excel: bool = False
    """Start CSV with a byte order mark and escape text that a spreadsheet would run as a formula."""
    delimiter: str = ","
    """The separator of CSV cells: one character."""
    split_rows: int | None = None
    """Start a new file after this many rows."""
    split_mb: float | None = None
    """Start a new file once one has this many megabytes, before compression."""

    @property
    def is_split(self) -> bool:
        """True if rows go to numbered files."""
        return self.split_rows is not None or self.split_mb is not None


PLAIN = OutputOptions()


class Output(Protocol):
    """A file that is being written.

    1. Rows appear whole or not at all: nothing is visible under the final name before `commit`.
    2. `abort` leaves nothing behind.
    3. `write` and `write_encoded` of the same item give the same row.
    4. After `seal` everything is durable on disk; `commit` only renames.
    """

    def write(self, item: Item) -> None:
        """Write one row."""

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form: an item as one JSON object, its fields in task order."""

    def seal(self) -> None:
        """Finish the file without showing it; no rows follow. Calling it again does nothing."""

    def commit(self) -> None:
        """Seal the file and make all rows visible."""

    def abort(self) -> None:
        """Discard all rows."""

    def size(self) -> int:
        """Return the approximate size of the rows so far in bytes, before compression."""

    def files(self) -> list[str]:
        """Return the names that `commit` makes visible."""

    def notes(self) -> list[str]:
        """Return remarks for the user about the sealed files, one line each."""


class OutputFactory(Protocol):
    """Opens an output: usually the class itself.

    It may have the attributes `media_type` (default `application/octet-stream`) and `max_columns` (default:
    no limit). Only formats based on `outputs.file_output.FileOutput` can be compressed and streamed.
    """

    def __call__(self, path: Path, columns: Sequence[TableColumn], options: OutputOptions, /) -> Output:
        """Open a file for rows of these columns; raise `StoreUnavailable` if it cannot be written."""
