"""Write items to files; the suffix of a file name selects the format."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeGuard

import msgspec

from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.items.columns import TableColumn
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.requests.request import content_fingerprint
from smartspider.interfaces.output import PLAIN, Output, OutputFactory, OutputOptions
from smartspider.outputs.file_output import FileOutput
from smartspider.outputs.files import COMPRESSIONS, StreamedFile, check_target, compression_of
from smartspider.outputs.json import JsonlOutput
from smartspider.outputs.split import SplitOutput, part_path
from smartspider.outputs.stdout import STDOUT, StdoutFile
from smartspider.plugins.kinds import OUTPUT
from smartspider.plugins.registry import built_in, known, resolve
from smartspider.store.results.rows import StoredItem

ENVELOPE = (
    TableColumn("url"),
    TableColumn("run"),
    TableColumn("fingerprint"),
    TableColumn("time", "datetime"),
    TableColumn("data", "json"),
)
"""The columns of rows with their origin; the item itself is `data`."""
OTHER = "application/octet-stream"
"""The media type of formats that name none."""

_OWN_DATABASE = "smartspider.db"


class Written(msgspec.Struct, frozen=True):
    """The files of an export (without standard output), the rows in each format, and remarks for the user."""

    files: list[str] = []
    rows: int = 0
    notes: list[str] = []


def check_outputs(
    paths: Sequence[Path], options: OutputOptions = PLAIN, columns: Sequence[TableColumn] = ()
) -> None:
    """Raise what `open_output` would raise, without writing: for use before a crawl starts."""
    targets: set[Path] = set()
    for path in paths:
        if path == STDOUT:
            _check_stdout(paths, options)
            continue
        _check_width(path, _factory_for(path), ENVELOPE if options.has_envelope else columns)
        check_target(part_path(path, 1) if options.is_split else path)
        target = Path(os.path.realpath(path))  # `Path.resolve` raises on a link to itself
        if target.name == _OWN_DATABASE:
            hint = "choose another name; this database stores the runs"
            raise RequestInvalid(f"the output {path} has the name of the crawl database", hint=hint)
        if target in targets:
            raise RequestInvalid(f"the output {path} is specified twice", hint="specify each file once")
        targets.add(target)


def _check_stdout(paths: Sequence[Path], options: OutputOptions) -> None:
    if options.is_split:
        raise RequestInvalid("standard output cannot be split", hint="remove --split-rows and --split-mb")
    if list(paths).count(STDOUT) > 1:
        raise RequestInvalid("the output - is specified twice", hint="specify it once")


def open_output(path: Path, columns: Sequence[TableColumn], options: OutputOptions = PLAIN) -> Output:
    """Open a file, or numbered files, in the format of the suffix; or standard output for JSON Lines."""
    if path == STDOUT:
        return JsonlOutput(path, columns, options, StdoutFile())
    output = _factory_for(path)
    _check_width(path, output, columns)
    if options.is_split:
        return SplitOutput(path, lambda part: output(part, columns, options), options)
    return output(path, columns, options)


def output_path(format_: str, compression: str | None, name: str, columns: Sequence[TableColumn]) -> Path:
    """Return the name of a file in a format; raise `RequestInvalid` for an unknown format or compression."""
    if format_ not in known(OUTPUT):
        raise RequestInvalid(
            f"there is no format {format_[:40]!r}", hint=f"known: {', '.join(known(OUTPUT))}"
        )
    if compression is not None and compression not in COMPRESSIONS:
        raise RequestInvalid(
            f"there is no compression {compression[:40]!r}", hint=f"known: {', '.join(COMPRESSIONS)}"
        )
    path = Path(f"{name}.{format_}" + (f".{compression}" if compression else ""))
    _check_width(path, _factory_for(path), columns)
    return path


def open_stream(
    path: Path, columns: Sequence[TableColumn], options: OutputOptions
) -> tuple[Output, StreamedFile] | None:
    """Open an output whose bytes can be sent while it is written; None if the format needs the whole file."""
    output = _factory_for(path)
    if not _is_compressible(output):
        return None
    streamed = StreamedFile(path)
    return output(path, columns, options, streamed), streamed


def media_type(path: Path) -> str:
    """Return the media type of a file, by its suffixes."""
    compression = compression_of(path)
    if compression is not None:
        return COMPRESSIONS[compression]
    declared: str = getattr(_factory_for(path), "media_type", OTHER)
    return declared


def media_types() -> list[str]:
    """Return the media types of all built-in formats and compressions."""
    return [*(str(kind.media_type) for kind in built_in(OUTPUT)), *COMPRESSIONS.values()]


async def write_outputs(
    batches: AsyncIterator[Sequence[StoredItem]],
    paths: Sequence[Path],
    columns: Sequence[TableColumn],
    options: OutputOptions = PLAIN,
) -> Written:
    """Write rows to all files in one pass; each file appears whole at the end."""
    names = ENVELOPE if options.has_envelope else tuple(columns)
    outputs: list[Output] = []
    rows = 0
    try:
        for path in paths:
            outputs.append(open_output(path, names, options))  # noqa: PERF401 - all that opened are aborted
        if outputs:
            async for batch in batches:
                rows += len(batch)
                for item in batch:
                    data = with_envelope(item) if options.has_envelope else item.data
                    for output in outputs:
                        output.write_encoded(data)
        for output in outputs:
            output.seal()
        for output in outputs:
            output.commit()
    except BaseException:
        for output in reversed(outputs):
            output.abort()
        raise
    files = [name for output in outputs for name in output.files() if name != str(STDOUT)]
    return Written(files, rows, [note for output in outputs for note in output.notes()])


def _factory_for(path: Path) -> OutputFactory:
    compression = compression_of(path)
    name = path.stem if compression else path.name
    suffix = Path(name).suffix.removeprefix(".").lower()
    try:
        factory = resolve(OUTPUT, suffix)
    except NotFound as unknown:
        what = f"has the unknown suffix .{suffix}" if suffix else "has no suffix that names a format"
        raise RequestInvalid(f"the output {path} {what}", hint=_suffix_hint()) from unknown
    if compression and not _is_compressible(factory):
        raise RequestInvalid(
            f"the output {path} cannot be compressed: .{suffix} files do not support compression",
            hint=f"remove .{compression}: {path.with_name(name)}",
        )
    return factory


def _is_compressible(factory: OutputFactory) -> TypeGuard[type[FileOutput]]:
    return isinstance(factory, type) and issubclass(factory, FileOutput) and factory.is_compressible


def _check_width(path: Path, factory: OutputFactory, columns: Sequence[TableColumn]) -> None:
    limit: int | None = getattr(factory, "max_columns", None)
    if limit is not None and len(columns) > limit:
        raise RequestInvalid(
            f"the output {path} has {len(columns)} columns, but the format supports at most {limit}",
            hint="choose another format",
        )


def _suffix_hint() -> str:
    *names, last = (f".{name}" for name in known(OUTPUT))
    compressions = ", ".join(f".{name}" for name in COMPRESSIONS)
    return f"use a name that ends in {', '.join(names)} or {last}; text formats also take {compressions}"


def with_envelope(item: StoredItem, data: bytes | None = None, url: str | None = None) -> bytes:
    """Return a row with its origin; `data` and `url` replace those of the item if given."""
    head = {
        "url": without_userinfo(item.url) if url is None else url,
        "run": str(item.run_id),
        "fingerprint": content_fingerprint(item.data).hex(),
        "time": datetime.fromtimestamp(item.created_at, UTC).isoformat(),
    }
    return msgspec.json.encode({**head, "data": msgspec.Raw(item.data if data is None else data)})
