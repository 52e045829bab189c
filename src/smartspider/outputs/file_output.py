"""The base of formats that write one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, cast

from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.output import PLAIN, OutputOptions
from smartspider.outputs.cells import encode_row, replace_unencodable
from smartspider.outputs.files import PendingFile, StreamedFile, compression_of, os_errors
from smartspider.outputs.stdout import StdoutFile


class FileOutput:
    """An `Output` that writes one file. A format implements `write_encoded`, and overrides `begin`, `end`
    and `release` where it needs to.
    """

    media_type: ClassVar[str] = "application/octet-stream"
    is_compressible: ClassVar[bool] = False
    """True if a further suffix such as `.gz` compresses the file. Such a format only appends bytes, so the
    file can also be streamed.
    """
    max_columns: ClassVar[int | None] = None
    """The most columns that the format holds; None for no limit."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[TableColumn],
        options: OutputOptions = PLAIN,
        streamed: StreamedFile | StdoutFile | None = None,
    ) -> None:
        self.path = path
        self._fields = [column.name for column in columns]
        self.columns = [TableColumn(replace_unencodable(column.name), column.kind) for column in columns]
        self.names = [column.name for column in self.columns]
        self.options = options
        self._is_sealed = False
        if streamed is not None:
            self.file = cast("PendingFile", streamed)  # a format that only appends needs no more
        else:
            compression = compression_of(path) if self.is_compressible else None
            self.file = PendingFile(path, compression, sweeps=not options.is_split)
        try:
            self.begin()
        except BaseException:
            self.abort()
            raise

    def write(self, item: Item) -> None:
        """Write one row: the fields that are columns, in column order."""
        self.write_encoded(encode_row({name: item[name] for name in self._fields if name in item}))

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        raise NotImplementedError

    def seal(self) -> None:
        """Finish the file without showing it."""
        if not self._is_sealed:
            with os_errors(self.path):
                self.end()
            self.file.seal()
            self._is_sealed = True

    def commit(self) -> None:
        """Make all rows visible."""
        self.seal()
        self.file.commit()

    def abort(self) -> None:
        """Discard all rows."""
        self.release()
        self.file.abort()

    def size(self) -> int:
        """Return the bytes written so far, before compression."""
        return self.file.size()

    def files(self) -> list[str]:
        """Return the name of the file."""
        return [str(self.path)]

    def notes(self) -> list[str]:
        """Return no remarks."""
        return []

    def begin(self) -> None:
        """Write the part before the rows."""

    def end(self) -> None:
        """Write the part after the rows."""

    def release(self) -> None:
        """Release resources other than the file; also called after `begin` or `end` failed."""
