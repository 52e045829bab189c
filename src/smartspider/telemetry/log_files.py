"""Log files in the data folder, and lines on the standard streams."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import sys
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import msgspec

from smartspider.core.control_characters import escape_controls
from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import Event
from smartspider.core.logs import LEVEL_NAMES, LogLine, StoredLogLine
from smartspider.core.redaction.redactor import Redactor
from smartspider.views.logs import log_text, log_view

FOLDER = "logs"
MAX_BYTES = 20_000_000
KEPT_FILES = 3
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class EventLog:
    """Writes each event at or above a level as a JSON line: time, event, run, worker, its own fields."""

    def __init__(
        self,
        folder: Path,
        worker: str,
        level: str = "info",
        redactor: Redactor | None = None,
        *,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._level = LEVELS[level]
        self._worker = worker
        self._redactor = redactor or Redactor()
        self._encode = msgspec.json.Encoder().encode
        self._file = open_file(folder / FOLDER / f"{worker}.jsonl", max_bytes, KEPT_FILES)

    def __call__(self, event: Event) -> None:
        """Write an event."""
        if LEVELS[event.level] < self._level:
            return
        fields = self._redactor.fields(msgspec.structs.asdict(event))
        head = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": event.level,
            "event": event.name,
            "run": str(fields.pop("run_id")),
            "worker": self._worker,
        }
        self._file.put(self._encode({**head, **fields}).decode())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def log_files(folder: Path, run_id: int) -> list[Path]:
    """Return the log files of a run: its own, those of its workers, rotated ones included."""
    logs = folder / FOLDER
    return [*logs.glob(f"run-{run_id}.jsonl*"), *logs.glob(f"run-{run_id}-*.jsonl*")]


_encode = msgspec.json.Encoder(enc_hook=str).encode


class RotatingLogFile(logging.handlers.RotatingFileHandler):
    """A rotating log file. Write errors are ignored: logging must not disturb the process."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Drop the line."""

    def _open(self) -> TextIOWrapper:
        """Open the file, for its owner alone."""
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return TextIOWrapper(os.fdopen(file, "ab"), encoding=self.encoding, errors=self.errors)

    def put(self, line: str) -> None:
        """Write a line."""
        self.handle(logging.LogRecord("", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # it flushes, which fails again on a full disk
            super().close()


def open_file(path: Path, max_bytes: int, kept: int) -> RotatingLogFile:
    """Return a log file; its folder is created now, the file with its first line."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"cannot write the log: {error}", hint="check the data folder") from error
    return RotatingLogFile(
        path, maxBytes=max_bytes, backupCount=kept, encoding="utf-8", errors="backslashreplace", delay=True
    )


def as_json(line: LogLine) -> str:
    """Return a line as JSON: time, level, event, ids, then its own fields."""
    fields: dict[str, Any] = {
        "at": datetime.fromtimestamp(line.at, UTC).isoformat(timespec="milliseconds"),
        "level": LEVEL_NAMES.get(line.level, "info"),
        "event": line.event,
        "run": None if line.run_id is None else str(line.run_id),
        "worker": line.worker,
        "text": line.text,
        "task": None if line.task_id is None else str(line.task_id),
        "host": line.host,
        "url": line.url,
        "error": line.error,
    }
    shown = {name: value for name, value in fields.items() if value is not None}
    try:
        return _encode(
            {**shown, **{name: value for name, value in line.fields.items() if name not in shown}}
        ).decode()
    except (UnicodeEncodeError, TypeError, ValueError):
        return _encode({name: ascii(value) for name, value in shown.items()}).decode()


def print_line(line: LogLine) -> None:
    """Print a line to standard output; errors are ignored."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(f"{escape_controls(as_json(line))}\n")
        sys.stdout.flush()


def show_line(line: LogLine) -> None:
    """Print a line as text to standard error; errors are ignored."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{log_text(log_view(StoredLogLine(0, line)))}\n")
        sys.stderr.flush()
