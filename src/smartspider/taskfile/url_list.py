"""Lists of URLs as people keep them: a text file with one URL per line, or a column of a CSV file."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence, Set
from itertools import compress

import msgspec

from smartspider.taskfile.keys import did_you_mean, nearest

DELIMITERS = ",;\t"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MAX_LINE = 100_000
"""Longest line of a text file in characters; no task allows longer URLs."""
_SHOWN_COLUMNS = 10
_LOOKED_AT = 100
"""Number of lines in which URLs are looked for before the names of columns are shown."""


class UrlListInvalid(Exception):
    """A list of URLs cannot be read, because of a line or, without a number, as a whole."""

    def __init__(self, line: int, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
        self.hint = hint


class UrlList(msgspec.Struct, frozen=True):
    """The URLs of a file with their line numbers, and the values of wanted columns in the same order."""

    urls: list[str]
    lines: list[int]
    values: dict[str, list[str]] = {}
    columns: Sequence[str] = ()
    """The names of all columns of a CSV file."""

    def without(self, places: Set[int]) -> UrlList:
        """Return the list without the URLs at these places."""
        kept = [place not in places for place in range(len(self.urls))]
        values = {name: list(compress(column, kept)) for name, column in self.values.items()}
        return UrlList(
            list(compress(self.urls, kept)), list(compress(self.lines, kept)), values, self.columns
        )


def read_url_list(raw: bytes, column: str | None, wanted: Set[str] = frozenset()) -> UrlList:
    """Return the URLs of a text file, or of a column of a CSV file with the values of `wanted` columns.

    URLs are trimmed but not checked. Empty lines and cells are skipped, as are those that begin with `#`.
    """
    text = _decode(raw)
    found = _read_lines(text) if column is None else _read_csv(text, column, wanted)
    if not found.urls:
        raise UrlListInvalid(0, "there are no URLs in it", "write one URL per line")
    return found


def _decode(raw: bytes) -> str:
    encoding = "utf-16" if raw.startswith(_UTF_16) else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UrlListInvalid(line, f"byte {error.start} is not UTF-8", "save the file as UTF-8") from error


def _read_lines(text: str) -> UrlList:
    urls: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if len(line) > MAX_LINE:
            reason = f"the line has {len(line):,} characters, more than {MAX_LINE:,}"
            raise UrlListInvalid(number, reason, "write one URL per line")
        url = line.strip()
        if url and not url.startswith("#"):
            urls.append(url)
            lines.append(number)
    if urls and "://" not in urls[0] and _has_urls(urls[1:]):
        names = ", ".join(_cells(urls[0])[:_SHOWN_COLUMNS])
        hint = f'if it is the header of a CSV file, add "column" to the entry: {names}'
        raise UrlListInvalid(lines[0], "the line is not a URL, but lines below it have URLs", hint)
    return UrlList(urls, lines)


def _has_urls(lines: Sequence[str]) -> bool:
    """Return whether lines have URLs. Only then parts of a file are shown in messages: a task may name any
    file of the machine.
    """
    return any("://" in line for line in lines[:_LOOKED_AT])


def _cells(header: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([header], delimiter=_delimiter_of(header)), [])]


def _delimiter_of(header: str) -> str:
    """Return the delimiter that splits a line into most cells."""
    return max(DELIMITERS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def _read_csv(text: str, column: str, wanted: Set[str]) -> UrlList:
    stream = io.StringIO(text, newline="")
    above, header = _skip_to_header(stream)
    reader = csv.reader(stream, delimiter=_delimiter_of(header), strict=True)
    try:
        columns = [name.strip() for name in next(reader, [])]
        place = _find_column(columns, column, above + 1, shows="://" in text)
        carried = {name: columns.index(name) for name in columns if name in wanted}
        urls: list[str] = []
        lines: list[int] = []
        values: dict[str, list[str]] = {name: [] for name in carried}
        end = reader.line_num
        for row in reader:
            line, end = above + end + 1, reader.line_num
            url = row[place].strip() if len(row) > place else ""
            if url and not url.startswith("#"):
                urls.append(url)
                lines.append(line)
                for name, index in carried.items():
                    values[name].append(row[index].strip() if len(row) > index else "")
    except csv.Error as error:
        hint = "a quote inside a quoted value is written twice"
        raise UrlListInvalid(above + reader.line_num, f"not valid CSV: {error}", hint) from error
    return UrlList(urls, lines, values, columns)


def _skip_to_header(stream: io.StringIO) -> tuple[int, str]:
    """Move to the first line that is neither empty nor a comment; return the lines above, and that line."""
    above, position = 0, 0
    for line in iter(stream.readline, ""):
        if line.strip() and not line.lstrip().startswith("#"):
            stream.seek(position)
            return above, line
        above, position = above + 1, stream.tell()
    return above, ""


def _find_column(columns: Sequence[str], column: str, line: int, *, shows: bool) -> int:
    if column in columns:
        return columns.index(column)
    near = nearest(column, columns)
    shown = f"columns: {', '.join(columns[:_SHOWN_COLUMNS])}" if shows else "the file has no URLs"
    hint = did_you_mean(near) if near else shown
    raise UrlListInvalid(line, f"there is no column {column!r}", hint)
