"""What programs ask for, in the words of the API: keywords that several calls share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from smartspider.core.schedules import Overlap


class LimitWords(TypedDict, total=False):
    """Limits of a run; None takes one away."""

    max_pages: int | None
    max_items: int | None
    max_depth: int | None
    max_duration_s: float | None
    max_errors: int | None


class KnobWords(TypedDict, total=False):
    """Knobs of a run; what is left out stays as it is. `rate_per_s` None: no rate."""

    concurrency: int
    delay_s: float
    rate_per_s: float | None
    per_host: int
    priority: int
    limits: LimitWords


class RuleWords(TypedDict, total=False):
    """When a schedule is due: one of `cron`, `every_s` and `at`; and what to do when that cannot be."""

    cron: str | None
    every_s: float | None
    at: str | None
    timezone: str | None
    misfire: Literal["skip", "once", "all"] | None
    misfire_s: float | None
    coalesce: bool | None
    overlap: bool | Overlap | None
    jitter_s: float | None
    retries: int | None
    retry_delay_s: float | None


class LogWords(TypedDict, total=False):
    """Which log lines: all that is given must hold."""

    level: str | None
    since: str | None
    until: str | None
    host: str | None
    error: str | None
    worker: str | None
    text: str | None


class RunWords(TypedDict, total=False):
    """Whose rows: a run, or the newest run of a task."""

    task_id: str | None
    run_id: str | None


class FileWords(TypedDict, total=False):
    """What a file of rows holds, and how it is written."""

    compression: str | None
    where: str | Sequence[str]
    fields: str | None
    only_changes: bool
    envelope: bool
    excel: bool
    delimiter: str


class ExportWords(RunWords, FileWords, total=False):
    """Whose rows are written to a file, and how."""
