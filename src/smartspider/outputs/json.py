"""JSON: one array, or JSON Lines."""

from __future__ import annotations

from typing import ClassVar

from smartspider.outputs.file_output import FileOutput


class JsonOutput(FileOutput):
    """Writes one UTF-8 file with an array of objects, one per line."""

    media_type: ClassVar[str] = "application/json"
    is_compressible: ClassVar[bool] = True

    _between = b"[\n"

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        self.file.write(self._between + data)
        self._between = b",\n"

    def end(self) -> None:
        """Close the array."""
        self.file.write(b"[]\n" if self._between == b"[\n" else b"\n]\n")


class JsonlOutput(FileOutput):
    """Writes one UTF-8 file with one object per line; its fields are in column order."""

    media_type: ClassVar[str] = "application/x-ndjson"
    is_compressible: ClassVar[bool] = True

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form, which is a line already."""
        self.file.write(data + b"\n")
