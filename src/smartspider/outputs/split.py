"""Rows split over several numbered files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from smartspider.core.errors import StoreUnavailable
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.output import Output, OutputOptions
from smartspider.outputs.files import compression_of, remove_orphans

_DIGITS = 6


class SplitOutput:
    """Writes `rows-000001.jsonl`, `rows-000002.jsonl` and so on: a complete file each, at least one.

    All parts are durable on disk before the first is renamed. Then the surplus parts of an earlier, longer
    export are removed.
    """

    max_parts: ClassVar[int] = 10**_DIGITS - 1

    def __init__(self, path: Path, open_part: Callable[[Path], Output], options: OutputOptions) -> None:
        self._path = path
        self._open_part = open_part
        self._most_rows = options.split_rows
        self._most_bytes = None if options.split_mb is None else options.split_mb * 1_000_000
        self._rows = 0
        stem, ending = _stem_and_ending(path)
        names = rf"{re.escape(stem)}-\d{{{_DIGITS}}}{re.escape(ending)}"
        remove_orphans(Path(os.path.realpath(path)).parent, names)
        self._parts = [open_part(part_path(path, 1))]

    def write(self, item: Item) -> None:
        """Write one row."""
        self._current_part().write(item)

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        self._current_part().write_encoded(data)

    def seal(self) -> None:
        """Finish the last part."""
        self._parts[-1].seal()

    def commit(self) -> None:
        """Make all parts visible."""
        self.seal()
        for part in self._parts:
            part.commit()
        self._remove_later_parts()

    def abort(self) -> None:
        """Discard all parts."""
        for part in reversed(self._parts):  # the first part created the folders
            part.abort()

    def size(self) -> int:
        """Return the approximate size of the rows so far in bytes."""
        return sum(part.size() for part in self._parts)

    def files(self) -> list[str]:
        """Return the names of the parts in order."""
        return [name for part in self._parts for name in part.files()]

    def notes(self) -> list[str]:
        """Return the remarks of all parts."""
        return [note for part in self._parts for note in part.notes()]

    def _current_part(self) -> Output:
        """Return the part for the next row, opening a new one if the last is full."""
        part = self._parts[-1]
        if self._rows and (
            (self._most_rows is not None and self._rows >= self._most_rows)
            or (self._most_bytes is not None and part.size() >= self._most_bytes)
        ):
            part.seal()
            number = len(self._parts) + 1
            if number > self.max_parts:
                raise StoreUnavailable(
                    f"{self._path} would be split into {number} files or more",
                    hint="choose larger parts",
                )
            part = self._open_part(part_path(self._path, number))
            self._parts.append(part)
            self._rows = 0
        self._rows += 1
        return part

    def _remove_later_parts(self) -> None:
        # Only parts that follow without a gap: other files may have names of the same form.
        first = last = len(self._parts) + 1
        while part_path(self._path, last).is_file():
            last += 1
        with suppress(OSError):
            for number in range(last - 1, first - 1, -1):
                part_path(self._path, number).unlink()


def part_path(path: Path, number: int) -> Path:
    """Return the path of a numbered part."""
    stem, ending = _stem_and_ending(path)
    return path.with_name(f"{stem}-{number:0{_DIGITS}d}{ending}")


def _stem_and_ending(path: Path) -> tuple[str, str]:
    ending = path.suffix
    if compression_of(path) is not None:
        ending = Path(path.stem).suffix + ending
    return path.name.removesuffix(ending), ending
