"""Items as Parquet: typed columns, compressed with zstd."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from typing import Any

from smartspider.core.columns import Kind
from smartspider.core.extraction import Item
from smartspider.sinks.cells import decode_row, distinct, text_of
from smartspider.sinks.file_sink import FileSink
from smartspider.sinks.files import translated
from smartspider.sinks.fitting import Fitting

_GROUP_ROWS = 50_000
_GROUP_BYTES = 32_000_000


class ParquetSink(FileSink):
    """A `Sink` into one file. Text is string, number float64, integer int64, boolean bool, datetime
    timestamp[us, UTC] (without a time zone taken for UTC); lists and objects are JSON in a string column.

    A column with a value that does not fit its type is a string column as a whole: what was written before is
    written again as text. Memory is bounded by the rows of one row group.
    """

    _writer: Any = None

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        self._rows.append(decode_row(data))
        self._taken += len(data)
        self._waiting += len(data)
        if len(self._rows) >= _GROUP_ROWS or self._waiting >= _GROUP_BYTES:
            with translated(self._path):
                self._flush()

    def size(self) -> int:
        """Bytes of the rows as JSON."""
        return self._taken

    def notes(self) -> list[str]:
        """Which columns are not of their type."""
        return self._fitting.notes(str(self._path))

    def _begin(self) -> None:
        self._rows: list[Item] = []
        self._taken = self._waiting = 0
        self._fitting = Fitting(self._columns)
        self._headings = distinct(self._names)

    def _end(self) -> None:
        self._flush()
        if self._writer is None:
            self._open_writer()
        self._close_writer()

    def _let_go(self) -> None:
        self._rows = []
        with suppress(Exception):  # it writes the end of a file that goes away anyhow
            self._close_writer()

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa  # type: ignore[import-untyped] # ships no types

        columns, widened = self._fitting.take(self._rows)
        if self._writer is not None and widened:
            self._write_again_as_text(widened)
        if self._writer is None:
            self._open_writer()
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
        self._waiting = 0

    def _open_writer(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        types = (_type(kind) for kind in self._fitting.kinds)
        self._schema = pa.schema(list(zip(self._headings, types, strict=True)))
        self._writer = parquet.ParquetWriter(self._file.stream, self._schema, compression="zstd")

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _write_again_as_text(self, widened: Collection[int]) -> None:
        """Put the rows written so far into a new file in which some columns are text."""
        import pyarrow as pa
        from pyarrow import parquet

        self._close_writer()
        with self._file.replaced() as before, parquet.ParquetFile(before) as written:
            self._open_writer()
            for batch in written.iter_batches(_GROUP_ROWS):
                arrays = [
                    _as_text(array) if index in widened else array
                    for index, array in enumerate(batch.columns)
                ]
                self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _type(kind: Kind) -> Any:
    import pyarrow as pa

    types = {
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "datetime": pa.timestamp("us", tz="UTC"),
    }
    return types.get(kind, pa.string())


def _as_text(array: Any) -> Any:
    import pyarrow as pa

    texts = (
        value.isoformat() if isinstance(value, datetime) else None if value is None else text_of(value)
        for value in array.to_pylist()
    )
    return pa.array(list(texts), pa.string())
