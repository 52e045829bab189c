"""Log lines as stored and searched."""

from __future__ import annotations

from typing import Any

import msgspec

LEVELS: dict[str, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
LEVEL_NAMES: dict[int, str] = {number: name for name, number in LEVELS.items()}


class LogLine(msgspec.Struct, frozen=True):
    """A log line. `event` is noun.verb, `text` a sentence, `error` the error type, `fields` the rest."""

    at: float
    level: int
    event: str
    text: str
    worker: str = ""
    task_id: int | None = None
    run_id: int | None = None
    host: str | None = None
    url: str | None = None
    error: str | None = None
    fields: dict[str, Any] = {}


class StoredLogLine(msgspec.Struct, frozen=True):
    """A log line with its number in the store."""

    id: int
    line: LogLine
