"""Entries from files: replace each `{"file": ...}` of a task by the list of URLs that the file contains."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from pydantic import ValidationError

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.requests.templates import placeholders_in
from smartspider.taskfile.keys import did_you_mean, nearest
from smartspider.taskfile.model.entries import EntryFile
from smartspider.taskfile.model.values import check_url
from smartspider.taskfile.problems import format_value, task_invalid
from smartspider.taskfile.url_list import UrlList, UrlListInvalid, read_url_list

STDIN = "-"
LINE = "line"
"""The name of the line number in `meta`, unless a column or a variable has it."""
_STDIN_NAME = "standard input"
_FILE_KEYS = frozenset({"file", "column"})
MAX_BYTES = 256_000_000
"""Maximum size of a file of URLs."""
_AT_URL = re.compile(r"entry_urls\[(\d+)\]\.urls\[(\d+)\]")
_LIKE_URL = re.compile(r"(?:https?://)?(?:[a-z0-9-]+\.)+[a-z]{2,}([/?#][^\s:@]*)?|https?://", re.IGNORECASE)
_SHOWN_CHARS = 40
_SHOWN_SKIPPED = 3
_LOOKED_AT = 100
"""Number of URLs of a file that tell whether it is a list of URLs."""

Report = Callable[[str], object]
"""Called with a description of what is done next, for a progress display."""


class ReadFile(msgspec.Struct, frozen=True):
    """A file of URLs that a task names: its name, and the URLs with their lines."""

    name: str
    urls: Sequence[str]
    lines: Sequence[int]

    def may_show(self, url: str) -> bool:
        """Return whether an invalid URL may be shown. A task may name any file of the machine, so only lines
        of lists of URLs are shown, and no credentials.
        """
        return _is_like_url(url) or ("@" not in url and self._has_mostly_urls())

    def _has_mostly_urls(self) -> bool:
        known = self.urls[:_LOOKED_AT]
        return 2 * sum(check_url(url) is None for url in known) >= len(known)


class ExpandedTask(msgspec.Struct, frozen=True):
    """A task document without files, and the files by the number of their entry."""

    document: object
    files: Mapping[int, ReadFile] = {}

    def with_lines(self, error: TaskInvalid) -> TaskInvalid:
        """Return the error with file and line in problems of URLs from files."""
        if not self.files or not error.problems:
            return error
        return task_invalid([self._named(problem) for problem in error.problems])

    def _named(self, problem: Problem) -> Problem:
        at_url = _AT_URL.match(problem.path)
        file = None if at_url is None else self.files.get(int(at_url[1]))
        if at_url is None or file is None:
            return problem
        number = int(at_url[2])
        url, line = file.urls[number], file.lines[number]
        message, hint = problem.message, problem.hint
        if not file.may_show(url):
            message = f"the line{message.removeprefix(format_value(url))}"
            hint = "each line is a URL that starts with http:// or https://"
        return Problem(f"entry_urls[{at_url[1]}]", f"{file.name}, line {line}: {message}", hint)


def _is_like_url(text: str) -> bool:
    """Return whether a text is short and begins like a URL, perhaps without its scheme."""
    return len(text) <= _SHOWN_CHARS and _LIKE_URL.fullmatch(text) is not None


def expand_files(
    document: object,
    folder: Path,
    report: Report = lambda _text: None,
    on_skipped: Report | None = None,
) -> ExpandedTask:
    """Read the files of a task's entries; relative paths start in `folder`. Raise `TaskInvalid`. With
    `on_skipped`, lines that are no URLs are left out and described to it.

    Entries with a wrong structure stay as they are, for the validation to report.
    """
    entries = document.get("entry_urls") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(entries, list):
        return ExpandedTask(document)
    expanded, files = list(entries), dict[int, ReadFile]()
    for index, written in enumerate(entries):
        entry = _as_file(written)
        if entry is None:
            continue
        path = f"entry_urls[{index}]"
        if entry.file == STDIN and any(file.name == _STDIN_NAME for file in files.values()):
            raise task_invalid([Problem(f"{path}.file", "standard input is read once", "keep one '-'")])
        found = _read(path, entry, folder, report)
        if on_skipped is not None:
            found = _valid_urls(found, _name_of(entry), on_skipped)
        files[index] = ReadFile(_name_of(entry), found.urls, found.lines)
        expanded[index] = _as_list(path, written, found, document)
    return ExpandedTask({**document, "entry_urls": expanded}, files) if files else ExpandedTask(document)


def _valid_urls(found: UrlList, name: str, on_skipped: Report) -> UrlList:
    """Return the list without invalid URLs; the whole list if none is valid."""
    wrong = [place for place, url in enumerate(found.urls) if check_url(url) is not None]
    if not wrong or len(wrong) == len(found.urls):
        return found
    file = ReadFile(name, found.urls, found.lines)
    shown = ", ".join(
        f"line {found.lines[place]}"
        + (f" ({format_value(found.urls[place])})" if file.may_show(found.urls[place]) else "")
        for place in wrong[:_SHOWN_SKIPPED]
    )
    more = f" and {len(wrong) - _SHOWN_SKIPPED:,} more" if len(wrong) > _SHOWN_SKIPPED else ""
    on_skipped(
        f"{name}: {len(wrong):,} of {len(found.urls):,} lines are not URLs and are skipped: {shown}{more}"
    )
    return found.without(frozenset(wrong))


def _as_file(entry: object) -> EntryFile | None:
    if not isinstance(entry, dict) or "file" not in entry:
        return None
    try:
        return EntryFile.model_validate(entry)
    except ValidationError:
        return None


def _name_of(entry: EntryFile) -> str:
    return _STDIN_NAME if entry.file == STDIN else entry.file


def _read(path: str, entry: EntryFile, folder: Path, report: Report) -> UrlList:
    name = _name_of(entry)
    report(f"reading URLs from {name}")
    names = frozenset(placeholders_in([entry.headers, entry.body, entry.meta, _variables(entry)]))
    try:
        return read_url_list(_bytes_of(entry, folder), entry.column, names)
    except FileNotFoundError as error:
        hint = "relative paths start in the folder of the task file"
        raise task_invalid([Problem(f"{path}.file", f"there is no file {entry.file}", hint)]) from error
    except OSError as error:
        raise task_invalid([Problem(f"{path}.file", f"{name} cannot be read: {error.strerror}")]) from error
    except UrlListInvalid as error:
        line = f", line {error.line}" if error.line else ""
        raise task_invalid([Problem(path, f"{name}{line}: {error.reason}", error.hint)]) from error


def _bytes_of(entry: EntryFile, folder: Path) -> bytes:
    if entry.file != STDIN:
        path = folder / entry.file
        if "\0" in entry.file or (path.exists() and not path.is_file()):
            raise OSError(errno.EINVAL, "it is not a regular file; '-' reads standard input")
        with path.open("rb") as file:
            return read_bounded(file)
    return b"" if sys.stdin is None else read_bounded(sys.stdin.buffer)


def read_bounded(file: BinaryIO, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a file; raise `OSError` if it is too large."""
    found = file.read(max_bytes + 1)
    if len(found) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes; split it")
    return found


def _variables(entry: EntryFile) -> Mapping[str, Any]:
    return entry.graphql.variables if entry.graphql else {}


def _as_list(
    path: str, written: Mapping[str, Any], found: UrlList, document: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the entry with the URLs of its file. Raise `TaskInvalid` if `meta` names a column that is not
    there.
    """
    variables = document.get("variables")
    known = [*found.columns, *(variables if isinstance(variables, dict) else ()), LINE]
    wanted = [*placeholders_in(written.get("meta"))]
    for name in wanted if found.columns else ():
        if name not in known:
            near = nearest(name, known)
            hint = did_you_mean(near) if near else f"columns: {', '.join(found.columns)}"
            raise task_invalid([Problem(f"{path}.meta", f"the file has no column {name!r}", hint)])
    numbers = {LINE: found.lines} if LINE in wanted and LINE not in known[:-1] else {}
    columns = {**found.values, **numbers}
    values = {"values": columns} if columns else {}
    options = {key: value for key, value in written.items() if key not in _FILE_KEYS}
    return {"urls": found.urls, **values, **options}
