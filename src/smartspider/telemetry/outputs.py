"""Where log lines go beside the store: a file that is rolled over, and standard output, as JSON."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.logs import LEVEL_NAMES, LogLine

_encode = msgspec.json.Encoder(enc_hook=str).encode


class RollingFile(logging.handlers.RotatingFileHandler):
    """A file that is rolled over; a line it cannot take is lost, for a log must not disturb what it tells."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Let the line go."""

    def put(self, line: str) -> None:
        """Write a line."""
        self.handle(logging.LogRecord("", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(OSError):  # it writes what is left, which fails again on a full disk
            super().close()


def open_file(path: Path, max_bytes: int, kept: int) -> RollingFile:
    """The file of a log, in a folder that is made when it is not there; made itself by its first line."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"no log can be written: {error}", hint="check the data folder") from error
    return RollingFile(
        path, maxBytes=max_bytes, backupCount=kept, encoding="utf-8", errors="backslashreplace", delay=True
    )


def as_json(line: LogLine) -> str:
    """A line as JSON: when, what, whose, then its own fields."""
    told: dict[str, Any] = {
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
    shown = {name: value for name, value in told.items() if value is not None}
    try:
        return _encode(
            {**shown, **{name: value for name, value in line.fields.items() if name not in shown}}
        ).decode()
    except (UnicodeEncodeError, TypeError, ValueError):
        return _encode({name: ascii(value) for name, value in shown.items()}).decode()


def print_line(line: LogLine) -> None:
    """A line on standard output; one that nobody reads is lost."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(f"{as_json(line)}\n")
        sys.stdout.flush()
