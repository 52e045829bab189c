"""Items as JSON Lines: one object per line."""

from __future__ import annotations

from typing import ClassVar

from smartspider.sinks.file_sink import FileSink


class JsonlSink(FileSink):
    """A `Sink` into one UTF-8 file; a row holds the item's fields, in the order of the columns."""

    is_compressible: ClassVar[bool] = True

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it; it is a line as it stands."""
        self._file.write(data + b"\n")
