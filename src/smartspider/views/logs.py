"""Views of log lines."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.control_characters import escape_controls
from smartspider.core.datetimes import format_time
from smartspider.core.logs import LEVEL_NAMES, StoredLogLine

_SPACES = dict.fromkeys(map(ord, "\t\n\v\f\r\x85\u2028\u2029"), " ")


class LogView(msgspec.Struct, frozen=True):
    """A log line. `text` is the message, `error` the error type, `fields` holds all other values."""

    id: str
    at: str
    level: str
    event: str
    text: str
    worker: str
    task_id: str | None
    run_id: str | None
    host: str | None
    url: str | None
    error: str | None
    fields: dict[str, Any]


class LogPoint(msgspec.Struct, frozen=True):
    """The number of lines of each level from a time on, until the next point."""

    at: str
    debug: int
    info: int
    warning: int
    error: int


class LogHistogram(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """The number of log lines over time. If `is_estimated`, the counts of frequent levels are estimates."""

    start: str
    end: str
    step_s: float
    is_estimated: bool
    points: list[LogPoint]


def log_view(stored: StoredLogLine) -> LogView:
    """Return the view of a stored line."""
    line = stored.line
    return LogView(
        id=str(stored.id),
        at=format_time(line.at),
        level=LEVEL_NAMES.get(line.level, str(line.level)),
        event=line.event,
        text=line.text,
        worker=line.worker,
        task_id=None if line.task_id is None else str(line.task_id),
        run_id=None if line.run_id is None else str(line.run_id),
        host=line.host,
        url=line.url,
        error=line.error,
        fields=line.fields,
    )


def log_text(line: LogView) -> str:
    """Return a line for people: its time to the second, level, run, worker, event, message and URL."""
    at = f"{line.at[:19]}Z" if line.at.endswith("Z") else line.at
    run = "" if line.run_id is None else f"run {line.run_id}"
    parts = (at, f"{line.level:<7}", run, line.worker, line.event, line.text, line.url or "")
    text = "  ".join(part for part in parts if part).translate(_SPACES)
    return text if text.isprintable() else escape_controls(text)
