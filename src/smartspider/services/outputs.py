"""The files a run is written to: chosen by the suffix of their name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from smartspider.core.errors import NotBuilt, NotFound, TaskInvalid
from smartspider.core.fingerprint import content_fingerprint
from smartspider.core.runs import Run
from smartspider.interfaces.sink import Sink
from smartspider.interfaces.store import Store, StoredItem
from smartspider.plugins import registry
from smartspider.sinks.files import check_target

NOT_BUILT = frozenset({"json", "parquet", "xlsx", "xml"})
"""Formats with a name in the contract that nothing in this version writes."""

ENVELOPE = ("url", "run", "fingerprint", "time", "data")
"""The columns when rows are wanted with where they come from; the item itself is `data`."""

Output = Callable[[Path, Sequence[str]], Sink]


def check_outputs(paths: Sequence[Path]) -> None:
    """Raise what `open_output` would raise, without touching the disk: for before a crawl starts."""
    targets: set[Path] = set()
    for path in paths:
        _output_for(path)
        check_target(path)
        target = path.resolve()
        if target in targets:
            raise TaskInvalid(f"the output {path} is named twice", hint="give each file once")
        targets.add(target)


def open_output(path: Path, columns: Sequence[str]) -> Sink:
    """A sink into a file, in the format its suffix names."""
    return _output_for(path)(path, columns)


def _output_for(path: Path) -> Output:
    suffix = path.suffix.removeprefix(".").lower()
    try:
        output: Output = registry.resolve("output", suffix)
    except NotFound as unknown:
        if suffix in NOT_BUILT:
            raise NotBuilt(f"writing .{suffix} is not built yet ({path})", hint=_choice()) from None
        what = f"has the unknown suffix .{suffix}" if suffix else "has no suffix"
        raise TaskInvalid(f"the output {path} {what}", hint=_choice()) from unknown
    return output


def _choice() -> str:
    return f"a name that ends in {' or '.join(f'.{name}' for name in registry.known('output'))}"


async def write_outputs(
    store: Store, run: Run, paths: Sequence[Path], columns: Sequence[str], *, envelope: bool
) -> list[str]:
    """Write all rows of a run to every file, in one pass; each file appears whole at the end."""
    names = ENVELOPE if envelope else tuple(columns)
    sinks: list[Sink] = []
    try:
        for path in paths:
            sinks.append(open_output(path, names))  # noqa: PERF401 - those that opened must be known if one fails
        if sinks:
            async for batch in store.items(run.id):
                for item in batch:
                    data = _with_envelope(item) if envelope else item.data
                    for sink in sinks:
                        sink.write_encoded(data)
        for sink in sinks:
            sink.commit()
    except BaseException:
        for sink in sinks:
            sink.abort()
        raise
    return [str(path) for path in paths]


def _with_envelope(item: StoredItem) -> bytes:
    head = {
        "url": item.url,
        "run": str(item.run_id),
        "fingerprint": content_fingerprint(item.data).hex(),
        "time": datetime.fromtimestamp(item.created_at, UTC).isoformat(),
    }
    return msgspec.json.encode({**head, "data": msgspec.json.decode(item.data)})
