"""A file that is sent while it is written: it never stands on a disk."""

from __future__ import annotations

import io
from pathlib import Path

from smartspider.sinks.compression import compression_of
from smartspider.sinks.files import packed


class StreamedFile:
    """Bytes wait here until they are taken. What `path` is called says how they are compressed."""

    def __init__(self, path: Path) -> None:
        self.stream = io.BytesIO()
        self._packed = packed(self.stream, compression_of(path))
        self._written = 0

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""
        self._written += len(data)
        self._packed.write(data)

    def take(self) -> bytes:
        """What was written and not taken yet; some of it may still wait to be compressed."""
        data = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return data

    def size(self) -> int:
        """Bytes written so far, before compression."""
        return self._written

    def seal(self) -> None:
        """Bring everything where it can be taken."""
        if self._packed is not self.stream:
            self._packed.close()

    def commit(self) -> None:
        """Nothing is left to do."""

    def abort(self) -> None:
        """Forget everything."""
