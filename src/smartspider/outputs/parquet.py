"""Parquet: typed columns, compressed with zstd."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from typing import Any, ClassVar

from smartspider.core.items.columns import ColumnKind
from smartspider.outputs.cells import make_distinct, to_text
from smartspider.outputs.column_types import TypedFileOutput


class ParquetOutput(TypedFileOutput):
    """Writes one Parquet file. Text is string, number float64, integer int64, boolean bool, datetime
    timestamp[us, UTC] (UTC if it has no time zone); lists and objects are JSON strings.

    If a value does not fit the type of its column, the whole column gets a wider type, in the end string: the
    rows written so far are written again. Memory is bounded by one row group.
    """

    media_type: ClassVar[str] = "application/vnd.apache.parquet"
    batch_rows: ClassVar[int] = 50_000
    batch_bytes: ClassVar[int] = 32_000_000
    _writer: Any = None

    def begin(self) -> None:
        """Start the first row group."""
        super().begin()
        self._headings = make_distinct(self.names)

    def end(self) -> None:
        """Write the last row group and the footer."""
        super().end()
        if self._writer is None:
            self._open_writer()
        self._close_writer()

    def release(self) -> None:
        """Close the writer."""
        self.rows = []
        with suppress(Exception):  # closing writes a footer to a file that is about to be removed
            self._close_writer()

    def flush(self) -> None:
        """Write the rows as a row group."""
        import pyarrow as pa  # type: ignore[import-untyped] # ships no types

        columns, changed = self.types.take(self.rows)
        if self._writer is not None and changed:
            self._write_again(changed)
        if self._writer is None:
            self._open_writer()
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def _open_writer(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        types = (_type(kind) for kind in self.types.kinds)
        self._schema = pa.schema(list(zip(self._headings, types, strict=True)))
        self._writer = parquet.ParquetWriter(self.file.stream, self._schema, compression="zstd")

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _write_again(self, changed: Collection[int]) -> None:
        """Rewrite the rows written so far with other types of some columns."""
        import pyarrow as pa
        from pyarrow import parquet

        self._close_writer()
        with self.file.replaced() as before, parquet.ParquetFile(before) as written:
            self._open_writer()
            for batch in written.iter_batches(self.batch_rows):
                arrays = [
                    _converted(array, self._schema.field(index).type) if index in changed else array
                    for index, array in enumerate(batch.columns)
                ]
                self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _type(kind: ColumnKind) -> Any:
    import pyarrow as pa

    types = {
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "datetime": pa.timestamp("us", tz="UTC"),
    }
    return types.get(kind, pa.string())


def _converted(array: Any, type_: Any) -> Any:
    import pyarrow as pa

    if type_ != pa.string():
        return array.cast(type_)
    texts = (
        value.isoformat() if isinstance(value, datetime) else None if value is None else to_text(value)
        for value in array.to_pylist()
    )
    return pa.array(list(texts), pa.string())
