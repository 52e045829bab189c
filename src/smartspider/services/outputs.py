"""The files that rows are written to: chosen by the suffix of their name."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from smartspider.core.columns import Column
from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.fingerprint import content_fingerprint
from smartspider.core.redaction import without_userinfo
from smartspider.interfaces.sink import PLAIN, OutputOptions, Sink
from smartspider.interfaces.store import StoredItem
from smartspider.plugins import registry
from smartspider.sinks.compression import COMPRESSIONS, compression_of
from smartspider.sinks.files import check_target
from smartspider.sinks.split import SplitSink, part_of
from smartspider.sinks.streamed import StreamedFile

ENVELOPE = (
    Column("url"), Column("run"), Column("fingerprint"), Column("time", "datetime"), Column("data", "json"),
)  # fmt: skip
"""The columns when rows are wanted with where they come from; the item itself is `data`."""

_OWN_DATABASE = "smartspider.db"

Output = Callable[..., Sink]
"""Made of a path, columns and options; formats that only add bytes take a `StreamedFile` as well."""


class Written(msgspec.Struct, frozen=True):
    """What came of writing: the files, how many rows each format got, and what a person should know."""

    files: list[str] = []
    rows: int = 0
    notes: list[str] = []


def check_outputs(
    paths: Sequence[Path], options: OutputOptions = PLAIN, columns: Sequence[Column] = ()
) -> None:
    """Raise what `open_output` would raise, without touching the disk: for before a crawl starts."""
    targets: set[Path] = set()
    for path in paths:
        _require_room(path, _output_for(path), ENVELOPE if options.has_envelope else columns)
        check_target(part_of(path, 1) if options.is_split else path)
        target = Path(os.path.realpath(path))  # unlike `resolve`, it ends on a link that leads to itself
        if target.name == _OWN_DATABASE:
            hint = "choose another name: the database holds the runs themselves"
            raise RequestInvalid(f"the output {path} has the name of a crawl's own database", hint=hint)
        if target in targets:
            raise RequestInvalid(f"the output {path} is named twice", hint="give each file once")
        targets.add(target)


def open_output(path: Path, columns: Sequence[Column], options: OutputOptions = PLAIN) -> Sink:
    """A sink into a file, or into numbered ones, in the format its suffix names."""
    output = _output_for(path)
    _require_room(path, output, columns)
    if options.is_split:
        return SplitSink(path, lambda part: output(part, columns, options), options)
    return output(path, columns, options)


def output_path(format_: str, compression: str | None, name: str, columns: Sequence[Column]) -> Path:
    """What a file of rows is called in a format; raises what is wrong with the choice."""
    if format_ not in registry.known("output"):
        raise RequestInvalid(
            f"there is no format {format_[:40]!r}", hint=f"known are {', '.join(registry.known('output'))}"
        )
    if compression is not None and compression not in COMPRESSIONS:
        raise RequestInvalid(
            f"there is no compression {compression[:40]!r}", hint=f"known are {', '.join(COMPRESSIONS)}"
        )
    path = Path(f"{name}.{format_}" + (f".{compression}" if compression else ""))
    _require_room(path, _output_for(path), columns)
    return path


def open_stream(
    path: Path, columns: Sequence[Column], options: OutputOptions
) -> tuple[Sink, StreamedFile] | None:
    """A sink whose bytes can be taken while it is written; None where the format must be whole first."""
    output = _output_for(path)
    if not getattr(output, "is_compressible", False):
        return None
    streamed = StreamedFile(path)
    return output(path, columns, options, streamed), streamed


async def write_outputs(
    batches: AsyncIterator[Sequence[StoredItem]],
    paths: Sequence[Path],
    columns: Sequence[Column],
    options: OutputOptions = PLAIN,
) -> Written:
    """Write rows to every file, in one pass over them; each file appears whole at the end."""
    names = ENVELOPE if options.has_envelope else tuple(columns)
    sinks: list[Sink] = []
    rows = 0
    try:
        for path in paths:
            sinks.append(open_output(path, names, options))  # noqa: PERF401 - those that opened must be known
        if sinks:
            async for batch in batches:
                rows += len(batch)
                for item in batch:
                    data = with_envelope(item) if options.has_envelope else item.data
                    for sink in sinks:
                        sink.write_encoded(data)
        for sink in sinks:
            sink.seal()
        for sink in sinks:
            sink.commit()
    except BaseException:
        for sink in reversed(sinks):
            sink.abort()
        raise
    files = [name for sink in sinks for name in sink.files()]
    return Written(files, rows, [note for sink in sinks for note in sink.notes()])


def _output_for(path: Path) -> Output:
    compression = compression_of(path)
    name = path.stem if compression else path.name
    suffix = Path(name).suffix.removeprefix(".").lower()
    try:
        output: Output = registry.resolve("output", suffix)
    except NotFound as unknown:
        what = f"has the unknown suffix .{suffix}" if suffix else "has no suffix that names a format"
        raise RequestInvalid(f"the output {path} {what}", hint=_choice()) from unknown
    if compression and not getattr(output, "is_compressible", False):
        raise RequestInvalid(
            f"the output {path} cannot be: .{suffix} files are not compressed by a further suffix",
            hint=f"leave .{compression} away: {path.with_name(name)}",
        )
    return output


def _require_room(path: Path, output: Output, columns: Sequence[Column]) -> None:
    most: int | None = getattr(output, "max_columns", None)
    if most is not None and len(columns) > most:
        raise RequestInvalid(
            f"the output {path} cannot hold {len(columns)} columns, only {most}", hint="choose another format"
        )


def _choice() -> str:
    *names, last = (f".{name}" for name in registry.known("output"))
    endings = ", ".join(f".{name}" for name in COMPRESSIONS)
    return f"a name that ends in {', '.join(names)} or {last}; text also with {endings} after it"


def with_envelope(item: StoredItem, data: bytes | None = None) -> bytes:
    """A row, or what is to be told of it, beside where it comes from."""
    head = {
        "url": without_userinfo(item.url),
        "run": str(item.run_id),
        "fingerprint": content_fingerprint(item.data).hex(),
        "time": datetime.fromtimestamp(item.created_at, UTC).isoformat(),
    }
    return msgspec.json.encode({**head, "data": msgspec.Raw(item.data if data is None else data)})
