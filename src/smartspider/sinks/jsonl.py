"""Items as JSON Lines: one object per line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from smartspider.core.extraction import Item
from smartspider.sinks.files import PendingFile


class JsonlSink:
    """A `Sink` into one UTF-8 file; a row holds the item's fields, in the order of `columns`."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._encode = msgspec.json.Encoder().encode
        self._file = PendingFile(path)

    def write(self, item: Item) -> None:
        """Take one row."""
        self.write_encoded(self._encode({name: item[name] for name in self._columns if name in item}))

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it; it is a line as it stands."""
        self._file.write(data + b"\n")

    def commit(self) -> None:
        """Make all rows visible."""
        self._file.commit()

    def abort(self) -> None:
        """Forget all rows."""
        self._file.abort()
