"""Items as one JSON array."""

from __future__ import annotations

from typing import ClassVar

from smartspider.sinks.file_sink import FileSink


class JsonSink(FileSink):
    """A `Sink` into one UTF-8 file: an array of objects, one per line."""

    is_compressible: ClassVar[bool] = True

    _between = b"[\n"

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        self._file.write(self._between + data)
        self._between = b",\n"

    def _end(self) -> None:
        self._file.write(b"[]\n" if self._between == b"[\n" else b"\n]\n")
