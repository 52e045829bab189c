"""Send the rows of a run as a file, in constant memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing
from pathlib import Path
from typing import Any, cast

import msgspec

from smartspider.core.errors import NotAllowed, NotFound, RequestInvalid
from smartspider.core.items.columns import TableColumn
from smartspider.core.items.filters import row_filter
from smartspider.core.redaction.masking import mask_text
from smartspider.core.runs.run import Run
from smartspider.interfaces.output import PLAIN, Output, OutputOptions
from smartspider.outputs.cells import decode_row, encode_row
from smartspider.services.fair_limit import FairLimit, SlotLimits
from smartspider.services.plans import run_columns, untuned_plan
from smartspider.services.results.background import BackgroundThread
from smartspider.services.results.diff import rows_of
from smartspider.services.results.filters import parse_fields, parse_where
from smartspider.services.results.outputs import (
    ENVELOPE,
    media_type,
    open_output,
    open_stream,
    output_path,
    with_envelope,
)
from smartspider.services.results.results import select_fields
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs.store import RunStore
from smartspider.views.arguments import ExportArguments

SLOTS = SlotLimits(total=16, reserve=16)
CHUNK_BYTES = 1 << 18
DELIMITERS = ",;|:^~#\t"

Shape = Callable[[StoredItem], bytes | None]
"""Returns the bytes to write for an item; None to leave it out."""
Batches = AsyncIterator[Sequence[StoredItem]]


class ExportChoice(msgspec.Struct, frozen=True):
    """The rows of an export and the format of its file."""

    format: str
    compression: str | None = None
    where: Sequence[str] = ()
    fields: str | None = None
    only_changes: bool = False
    options: OutputOptions = PLAIN
    masks_urls: bool = False
    """Mask secrets in the URLs of rows."""


def export_choice(format_: str, options: ExportArguments, *, masks_urls: bool = False) -> ExportChoice:
    """Return the choice that the arguments of an export make."""
    where = options.get("where", ())
    delimiter = options.get("delimiter", ",")
    output = OutputOptions(
        options.get("envelope", False),
        options.get("excel", False),
        "\t" if delimiter.lower() == "tab" else delimiter,
    )
    return ExportChoice(
        format_,
        options.get("compression"),
        [where] if isinstance(where, str) else list(where),
        options.get("fields"),
        options.get("only_changes", False),
        output,
        masks_urls,
    )


class Export(msgspec.Struct, frozen=True):
    """A file that is being sent. Reading the first of `chunks` starts the work; closing them ends it."""

    name: str
    media_type: str
    chunks: AsyncIterator[bytes]


class Exports:
    """Runs exports, a bounded number at a time and for each user.

    `scratch` returns a temporary folder for formats that must be complete before they are sent.
    """

    def __init__(self, store: RunStore, scratch: Callable[[], AbstractContextManager[Path]]) -> None:
        self.store = store
        self._scratch = scratch
        self.slots = FairLimit("exports", SLOTS, "exports, downloads and comparisons")

    def begin(self, run: Run, choice: ExportChoice, holder: str) -> Export:
        """Return the file of a run's rows, which takes a slot of a user.

        Raises `RequestInvalid` if the choice is invalid.
        """
        delimiter = choice.options.delimiter
        if len(delimiter) != 1 or delimiter not in DELIMITERS:
            raise RequestInvalid(
                f"{delimiter[:20]!r} is not a delimiter",
                hint=f"use one of {' '.join(DELIMITERS.strip())} or a tab",
            )
        columns: Sequence[TableColumn] = run_columns(run)
        known = [column.name for column in columns]
        fields = None if choice.fields is None else parse_fields(choice.fields, known)
        if fields is not None:
            kinds = {column.name: column for column in columns}
            columns = [kinds[name] for name in dict.fromkeys(fields)]
        shape = _shape(choice, known, fields)
        columns = ENVELOPE if choice.options.has_envelope else columns
        path = output_path(choice.format, choice.compression, f"{run.task_name}-run-{run.id}", columns)
        chunks = self._chunks(run, choice, _Plan(path, columns, choice.options, shape, holder))
        return Export(path.name, media_type(path), chunks)

    async def _chunks(self, run: Run, choice: ExportChoice, plan: _Plan) -> AsyncIterator[bytes]:
        rows = rows_of(self.store, run, untuned_plan(run), only_changes=choice.only_changes)
        with self.slots.acquire(plan.holder):
            async with BackgroundThread() as thread, aclosing(cast("Any", self._rows(run, rows))) as batches:
                opened = await thread.run(open_stream, plan.path, plan.columns, plan.options)
                if opened is None:
                    made = self._whole(thread, plan, batches)
                else:
                    output, streamed = opened
                    made = _streamed(thread, _RowWriter(output, plan.shape), streamed.take, batches)
                async with aclosing(cast("Any", made)) as chunks:
                    async for chunk in chunks:
                        yield chunk

    async def _rows(self, run: Run, rows: Batches) -> Batches:
        """Yield all rows; raise `NotAllowed` at the end if the run was deleted meanwhile."""
        async with aclosing(cast("Any", rows)) as batches:
            async for batch in batches:
                yield batch
        try:
            now = await self.store.get_run(run.id)
        except NotFound:
            now = None
        if now is None or (now.state, now.reason) == ("cancelled", "deleted"):
            raise NotAllowed(
                f"run {run.id} was deleted while its rows were exported", hint="export another run"
            )

    async def _whole(self, thread: BackgroundThread, plan: _Plan, batches: Batches) -> AsyncIterator[bytes]:
        """Write a temporary file, then yield its content."""
        with self._scratch() as folder:
            path = folder / f"rows{''.join(plan.path.suffixes[-1:])}"
            output = await thread.run(open_output, path, plan.columns, plan.options)
            try:
                writer = _RowWriter(output, plan.shape)
                async for batch in batches:
                    await thread.run(writer.write, batch)
                await thread.run(output.commit)
            except BaseException:
                await thread.run(output.abort)
                raise
            with await thread.run(lambda: path.open("rb")) as file:
                while chunk := await thread.run(file.read, CHUNK_BYTES):
                    yield chunk


class _Plan(msgspec.Struct, frozen=True):
    """The file of an export."""

    path: Path
    columns: Sequence[TableColumn]
    options: OutputOptions
    shape: Shape
    holder: str


class _RowWriter:
    """Writes rows to an output, in their shape."""

    def __init__(self, output: Output, shape: Shape) -> None:
        self.output = output
        self._shape = shape

    def write(self, batch: Sequence[StoredItem]) -> None:
        """Write a batch of rows."""
        for item in batch:
            data = self._shape(item)
            if data is not None:
                self.output.write_encoded(data)


async def _streamed(
    thread: BackgroundThread, writer: _RowWriter, take: Callable[[], bytes], batches: Batches
) -> AsyncIterator[bytes]:
    async for batch in batches:
        await thread.run(writer.write, batch)
        if chunk := take():
            yield chunk
    await thread.run(writer.output.seal)
    yield take()


def _shape(choice: ExportChoice, known: Sequence[str], fields: Sequence[str] | None) -> Shape:
    fits = row_filter(parse_where(choice.where, known))
    has_envelope = choice.options.has_envelope

    def shape(item: StoredItem) -> bytes | None:
        data = item.data
        if fits is not None or fields is not None:
            row = decode_row(data)
            if fits is not None and not fits(row):
                return None
            if fields is not None:
                data = encode_row(select_fields(row, fields))
        if not has_envelope:
            return data
        return with_envelope(item, data, url=mask_text(item.url) if choice.masks_urls else None)

    return shape
