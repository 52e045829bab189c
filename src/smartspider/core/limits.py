"""When a run ends before its pages do."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Bounds of a run; None means none. They are exact on what is stored."""

    max_pages: int | None = None
    max_items: int | None = None
    max_depth: int | None = None
    max_duration_s: float | None = None
    max_errors: int | None = None


class Guards(msgspec.Struct, frozen=True):
    """When a run is paused because something is wrong with it (`alerts` in the task)."""

    consecutive_failures: int | None = None
    failure_rate: float | None = None
    failure_rate_after: int = 20
    """Finished requests before the failure rate means anything."""
    pauses: bool = True
    """False: only an event and a log line."""
