"""Events as structured JSON lines in the data folder."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from smartspider.core.events import Event
from smartspider.core.redaction import Redactor
from smartspider.telemetry.outputs import open_file

FOLDER = "logs"
MAX_BYTES = 20_000_000
KEPT_FILES = 3
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class EventLog:
    """Writes every event of a level or above as one line: when, what, run, worker, then its own fields."""

    def __init__(
        self, folder: Path, worker: str, level: str = "info", redactor: Redactor | None = None
    ) -> None:
        self._level = LEVELS[level]
        self._worker = worker
        self._redactor = redactor or Redactor()
        self._encode = msgspec.json.Encoder().encode
        self._file = open_file(folder / FOLDER / f"{worker}.jsonl", MAX_BYTES, KEPT_FILES)

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
        """Let go of the file."""
        self._file.close()


def log_files(folder: Path, run_id: int) -> list[Path]:
    """The logs of a run: its own, those of its workers, and what was rolled over."""
    logs = folder / FOLDER
    return [*logs.glob(f"run-{run_id}.jsonl*"), *logs.glob(f"run-{run_id}-*.jsonl*")]
