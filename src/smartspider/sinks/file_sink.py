"""What sinks into one file have in common: it appears whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, cast

from smartspider.core.columns import Column
from smartspider.core.extraction import Item
from smartspider.interfaces.sink import PLAIN, OutputOptions
from smartspider.sinks.cells import encode_row, writable
from smartspider.sinks.compression import compression_of
from smartspider.sinks.files import PendingFile, translated
from smartspider.sinks.streamed import StreamedFile


class FileSink:
    """A `Sink` into one file. A format says how it begins, what a row is, how it ends, what it holds."""

    is_compressible: ClassVar[bool] = False
    """Whether a further suffix such as `.gz` compresses the file. It is then written from beginning to end,
    so that it can also be sent on the way.
    """
    max_columns: ClassVar[int | None] = None
    """More the format cannot hold."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[Column],
        options: OutputOptions = PLAIN,
        streamed: StreamedFile | None = None,
    ) -> None:
        self._path = path
        self._fields = [column.name for column in columns]
        self._columns = [Column(writable(column.name), column.kind) for column in columns]
        self._names = [column.name for column in self._columns]
        self._options = options
        self._is_sealed = False
        if streamed is not None:
            self._file = cast("PendingFile", streamed)  # all that a format which only adds bytes needs
        else:
            compression = compression_of(path) if self.is_compressible else None
            self._file = PendingFile(path, compression, sweeps=not options.is_split)
        try:
            self._begin()
        except BaseException:
            self.abort()
            raise

    def write(self, item: Item) -> None:
        """Take one row: the fields that are columns, in their order."""
        self.write_encoded(encode_row({name: item[name] for name in self._fields if name in item}))

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        raise NotImplementedError

    def seal(self) -> None:
        """Take no more rows, and be ready for `commit`."""
        if not self._is_sealed:
            with translated(self._path):
                self._end()
            self._file.seal()
            self._is_sealed = True

    def commit(self) -> None:
        """Make all rows visible."""
        self.seal()
        self._file.commit()

    def abort(self) -> None:
        """Forget all rows."""
        self._let_go()
        self._file.abort()

    def size(self) -> int:
        """Bytes so far, before compression."""
        return self._file.size()

    def files(self) -> list[str]:
        """The one file."""
        return [str(self._path)]

    def notes(self) -> list[str]:
        """Nothing, unless the format has something to tell."""
        return []

    def _begin(self) -> None:
        """Write what stands before the rows."""

    def _end(self) -> None:
        """Write what stands after the rows."""

    def _let_go(self) -> None:
        """Free what is held besides the file; also when `_begin` or `_end` failed."""
