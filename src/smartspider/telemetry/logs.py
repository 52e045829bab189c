"""Events as structured JSON lines in the data folder."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from smartspider.core.errors import StoreUnavailable
from smartspider.core.events import Event

FOLDER = "logs"
MAX_BYTES = 20_000_000
KEPT_FILES = 3
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class EventLog:
    """Writes every event of a level or above as one line: when, what, run, worker, then its own fields."""

    def __init__(self, folder: Path, worker: str, level: str = "info") -> None:
        self._level = LEVELS[level]
        self._worker = worker
        self._encode = msgspec.json.Encoder().encode
        self._handler = _open(folder / FOLDER / f"{worker}.jsonl")

    def __call__(self, event: Event) -> None:
        """Write an event."""
        level = LEVELS[event.level]
        if level < self._level:
            return
        fields = msgspec.structs.asdict(event)
        head = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": event.level,
            "event": event.name,
            "run": str(fields.pop("run_id")),
            "worker": self._worker,
        }
        line = self._encode({**head, **fields}).decode()
        self._handler.emit(logging.LogRecord(event.name, level, "", 0, line, None, None))

    def close(self) -> None:
        """Let go of the file."""
        with contextlib.suppress(OSError):  # it writes what is left, which fails again on a full disk
            self._handler.close()


def log_files(folder: Path, run_id: int) -> list[Path]:
    """The logs of a run: its own, those of its workers, and what was rolled over."""
    logs = folder / FOLDER
    return [*logs.glob(f"run-{run_id}.jsonl*"), *logs.glob(f"run-{run_id}-*.jsonl*")]


class _File(logging.handlers.RotatingFileHandler):
    """A file that is rolled over; a line it cannot take is lost, for a log must not disturb what it tells."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Let the line go."""


def _open(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"no log can be written: {error}", hint="check the data folder") from error
    return _File(path, maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8", delay=True)
