"""The rows of a run as a file that is sent: in constant memory, however many there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from pathlib import Path
from typing import Any, cast

import msgspec

from smartspider.core.columns import Column
from smartspider.core.conditions import row_test
from smartspider.core.errors import NotAllowed, NotFound, RequestInvalid
from smartspider.core.runs import Run
from smartspider.interfaces.sink import PLAIN, OutputOptions, Sink
from smartspider.interfaces.store import Store, StoredItem
from smartspider.services.aside import Aside, Slots
from smartspider.services.columns import columns_of_run, plan_of_run
from smartspider.services.difference import rows_of
from smartspider.services.outputs import ENVELOPE, open_output, open_stream, output_path, with_envelope
from smartspider.services.results import chosen
from smartspider.services.rows import parse_fields, parse_where
from smartspider.sinks.cells import decode_row, encode_row

AT_ONCE = 8
CHUNK_BYTES = 1 << 18
DELIMITERS = ",;|:^~#\t"
OTHER = "application/octet-stream"
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "xml": "application/xml",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "sqlite": "application/vnd.sqlite3",
    "db": "application/vnd.sqlite3",
    "gz": "application/gzip",
    "zst": "application/zstd",
    "bz2": "application/x-bzip2",
    "xz": "application/x-xz",
}
"""By suffix; formats of plug-ins are `OTHER`."""

Shape = Callable[[StoredItem], bytes | None]
"""What is written of a row; None: nothing."""
Batches = AsyncIterator[Sequence[StoredItem]]


class ExportChoice(msgspec.Struct, frozen=True):
    """Which rows go into a file, and how it is written."""

    format: str
    compression: str | None = None
    where: Sequence[str] = ()
    fields: str | None = None
    only_changes: bool = False
    options: OutputOptions = PLAIN


class Export(msgspec.Struct, frozen=True):
    """A file as it is sent. The work begins when the first of `chunks` is asked for; closing them ends it."""

    name: str
    media_type: str
    chunks: AsyncIterator[bytes]


class Exports:
    """Exports of this process, a bounded number at a time.

    `scratch` gives a folder for formats that must be whole before they are sent, for as long as it is used.
    """

    def __init__(self, store: Store, scratch: Callable[[], AbstractContextManager[Path]]) -> None:
        self._store = store
        self._scratch = scratch
        self.slots = Slots(AT_ONCE)

    def begin(self, run: Run, choice: ExportChoice) -> Export:
        """The file of a run's rows; raises whatever is wrong with the choice."""
        delimiter = choice.options.delimiter
        if len(delimiter) != 1 or delimiter not in DELIMITERS:
            raise RequestInvalid(
                f"{delimiter[:20]!r} cannot separate cells",
                hint=f"one of {' '.join(DELIMITERS.strip())} or a tab",
            )
        columns: Sequence[Column] = columns_of_run(run)
        known = [column.name for column in columns]
        fields = None if choice.fields is None else parse_fields(choice.fields, known)
        if fields is not None:
            kinds = {column.name: column for column in columns}
            columns = [kinds[name] for name in dict.fromkeys(fields)]
        shape = _shape(choice, known, fields)
        columns = ENVELOPE if choice.options.has_envelope else columns
        path = output_path(choice.format, choice.compression, f"{run.task_name}-run-{run.id}", columns)
        chunks = self._chunks(run, choice, _Plan(path, columns, choice.options, shape))
        return Export(path.name, MEDIA_TYPES.get(path.suffix.removeprefix("."), OTHER), chunks)

    async def _chunks(self, run: Run, choice: ExportChoice, plan: _Plan) -> AsyncIterator[bytes]:
        rows = rows_of(self._store, run, plan_of_run(run), only_changes=choice.only_changes)
        with self.slots.taken():
            async with Aside() as aside, aclosing(cast("Any", self._rows(run, rows))) as batches:
                opened = await aside.do(open_stream, plan.path, plan.columns, plan.options)
                if opened is None:
                    made = self._whole(aside, plan, batches)
                else:
                    sink, streamed = opened
                    made = _streamed(aside, _Writing(sink, plan.shape), streamed.take, batches)
                async with aclosing(cast("Any", made)) as chunks:
                    async for chunk in chunks:
                        yield chunk

    async def _rows(self, run: Run, rows: Batches) -> Batches:
        """All rows; an error when some of them were deleted meanwhile, for the file would be short."""
        async with aclosing(cast("Any", rows)) as batches:
            async for batch in batches:
                yield batch
        try:
            now = await self._store.get_run(run.id)
        except NotFound:
            now = None
        if now is None or (now.state, now.reason) == ("cancelled", "deleted"):
            raise NotAllowed(
                f"run {run.id} was deleted while its rows were exported", hint="export another run"
            )

    async def _whole(self, aside: Aside, plan: _Plan, batches: Batches) -> AsyncIterator[bytes]:
        """Write the file, then read it; it is gone when this ends."""
        with self._scratch() as folder:
            path = folder / f"rows{''.join(plan.path.suffixes[-1:])}"
            sink = await aside.do(open_output, path, plan.columns, plan.options)
            try:
                writing = _Writing(sink, plan.shape)
                async for batch in batches:
                    await aside.do(writing.write, batch)
                await aside.do(sink.commit)
            except BaseException:
                await aside.do(sink.abort)
                raise
            with await aside.do(lambda: path.open("rb")) as file:
                while chunk := await aside.do(file.read, CHUNK_BYTES):
                    yield chunk


class _Plan(msgspec.Struct, frozen=True):
    """What is written, and how."""

    path: Path
    columns: Sequence[Column]
    options: OutputOptions
    shape: Shape


class _Writing:
    """Puts rows into a sink, in their shape."""

    def __init__(self, sink: Sink, shape: Shape) -> None:
        self.sink = sink
        self._shape = shape

    def write(self, batch: Sequence[StoredItem]) -> None:
        """Take a batch of rows."""
        for item in batch:
            data = self._shape(item)
            if data is not None:
                self.sink.write_encoded(data)


async def _streamed(
    aside: Aside, writing: _Writing, take: Callable[[], bytes], batches: Batches
) -> AsyncIterator[bytes]:
    async for batch in batches:
        await aside.do(writing.write, batch)
        if chunk := take():
            yield chunk
    await aside.do(writing.sink.seal)
    yield take()


def _shape(choice: ExportChoice, known: Sequence[str], fields: Sequence[str] | None) -> Shape:
    fits = row_test(parse_where(choice.where, known))
    has_envelope = choice.options.has_envelope

    def shape(item: StoredItem) -> bytes | None:
        data = item.data
        if fits is not None or fields is not None:
            row = decode_row(data)
            if fits is not None and not fits(row):
                return None
            if fields is not None:
                data = encode_row(chosen(row, fields))
        return with_envelope(item, data) if has_envelope else data

    return shape
