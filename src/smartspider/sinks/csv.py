"""Items as CSV (RFC 4180): a header, then one record per item."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from smartspider.core.extraction import Item
from smartspider.sinks.files import PendingFile


class CsvSink:
    """A `Sink` into one UTF-8 file with the given columns. Null and missing are empty, text stands as it is,
    everything else is JSON text.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._file = PendingFile(path)
        self._writer = csv.writer(_Utf8(self._file))
        self._writer.writerow(self._columns)

    def write(self, item: Item) -> None:
        """Take one row."""
        self._writer.writerow([_cell(item.get(name)) for name in self._columns])

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        self.write(msgspec.json.decode(data))

    def commit(self) -> None:
        """Make all rows visible."""
        self._file.commit()

    def abort(self) -> None:
        """Forget all rows."""
        self._file.abort()


class _Utf8:
    """What the csv module writes its records to."""

    def __init__(self, file: PendingFile) -> None:
        self._file = file

    def write(self, text: str) -> None:
        self._file.write(text.encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
