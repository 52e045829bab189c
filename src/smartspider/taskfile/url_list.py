"""Lists of URLs as people keep them: a text file with one URL per line, or a column of a CSV file."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence, Set

import msgspec

from smartspider.taskfile.keys import did_you_mean, nearest

DELIMITERS = ",;\t"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SHOWN_COLUMNS = 10


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
        url = line.strip()
        if url and not url.startswith("#"):
            urls.append(url)
            lines.append(number)
    if urls and "://" not in urls[0] and len(names := _cells(urls[0])) > 1:
        hint = f'to read a column of a CSV file add "column", one of: {", ".join(names[:_SHOWN_COLUMNS])}'
        raise UrlListInvalid(lines[0], "the line is not a URL", hint)
    return UrlList(urls, lines)


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
        place = _find_column(columns, column, above + 1)
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


def _find_column(columns: Sequence[str], column: str, line: int) -> int:
    if column in columns:
        return columns.index(column)
    near = nearest(column, columns)
    shown = ", ".join(columns[:_SHOWN_COLUMNS]) or "none"
    hint = did_you_mean(near) if near else f"columns: {shown}"
    raise UrlListInvalid(line, f"there is no column {column!r}", hint)
