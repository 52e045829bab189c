"""Rows over several files with numbers in their names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from smartspider.core.errors import StoreUnavailable
from smartspider.core.extraction import Item
from smartspider.interfaces.sink import OutputOptions, Sink
from smartspider.sinks.compression import compression_of
from smartspider.sinks.files import remove_orphans

_DIGITS = 6


class SplitSink:
    """A `Sink` into `rows-000001.jsonl`, `rows-000002.jsonl` and so on: a whole file each, at least one.

    All parts are safely on disk before the first one gets its name. Parts of an earlier, longer export are
    taken away after that.
    """

    def __init__(self, path: Path, open_part: Callable[[Path], Sink], options: OutputOptions) -> None:
        self._path = path
        self._open_part = open_part
        self._most_rows = options.split_rows
        self._most_bytes = None if options.split_mb is None else options.split_mb * 1_000_000
        self._rows = 0
        stem, ending = _stem_and_ending(path)
        names = rf"{re.escape(stem)}-\d{{{_DIGITS}}}{re.escape(ending)}"
        remove_orphans(Path(os.path.realpath(path)).parent, names)
        self._parts = [open_part(part_of(path, 1))]

    def write(self, item: Item) -> None:
        """Take one row."""
        self._next().write(item)

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        self._next().write_encoded(data)

    def seal(self) -> None:
        """Take no more rows."""
        self._parts[-1].seal()

    def commit(self) -> None:
        """Make all parts visible."""
        self.seal()
        for part in self._parts:
            part.commit()
        self._remove_later_parts()

    def abort(self) -> None:
        """Forget all parts."""
        for part in reversed(self._parts):  # the first one has made the folders
            part.abort()

    def size(self) -> int:
        """About how many bytes the rows take so far."""
        return sum(part.size() for part in self._parts)

    def files(self) -> list[str]:
        """The parts in their order."""
        return [name for part in self._parts for name in part.files()]

    def notes(self) -> list[str]:
        """What the parts have to tell."""
        return [note for part in self._parts for note in part.notes()]

    def _next(self) -> Sink:
        """The part that takes the next row."""
        part = self._parts[-1]
        if self._rows and (
            (self._most_rows is not None and self._rows >= self._most_rows)
            or (self._most_bytes is not None and part.size() >= self._most_bytes)
        ):
            part.seal()
            number = len(self._parts) + 1
            if number >= 10**_DIGITS:
                raise StoreUnavailable(
                    f"{self._path} would be split into {number} files or more",
                    hint="choose larger parts",
                )
            part = self._open_part(part_of(self._path, number))
            self._parts.append(part)
            self._rows = 0
        self._rows += 1
        return part

    def _remove_later_parts(self) -> None:
        # Only those that follow without a gap: other files may have names of the same form.
        first = last = len(self._parts) + 1
        while part_of(self._path, last).is_file():
            last += 1
        with suppress(OSError):
            for number in range(last - 1, first - 1, -1):
                part_of(self._path, number).unlink()


def part_of(path: Path, number: int) -> Path:
    """The name of a part of an output."""
    stem, ending = _stem_and_ending(path)
    return path.with_name(f"{stem}-{number:0{_DIGITS}d}{ending}")


def _stem_and_ending(path: Path) -> tuple[str, str]:
    ending = path.suffix
    if compression_of(path) is not None:
        ending = Path(path.stem).suffix + ending
    return path.name.removesuffix(ending), ending
