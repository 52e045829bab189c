"""Schedules: when tasks start by themselves."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

Overlap = Literal["skip", "queue", "allow", "cancel"]
"""If the previous run has not finished: skip this one, queue it until then, allow both, or cancel the
previous one.
"""
MAX_INTERVAL_S = 366 * 86_400.0
MAX_RETRY_DELAY_S = 7 * 86_400.0
Outcome = Literal["started", "skipped", "missed", "failed"]


class ScheduleRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """The start times of runs and the handling of missed ones. One of `cron`, `every_s` and `at` is set."""

    cron: str | None = None
    every_s: float | None = None
    at: float | None = None
    """A single time."""
    timezone: str = "UTC"
    misfire_s: float = 300.0
    """Maximum delay of a missed start."""
    coalesce: bool = True
    """Of several missed starts, make up only for the last."""
    overlap: Overlap = "skip"
    jitter_s: float = 0.0
    """Maximum random delay of a start; the same for every process that computes it."""
    retries: int = 0
    """Maximum retries of a failed run."""
    retry_delay_s: float = 300.0


class ScheduleRecord(msgspec.Struct, frozen=True):
    """A stored schedule."""

    id: int
    task_id: int
    rule: ScheduleRule
    is_enabled: bool
    is_of_task: bool
    created_by: str
    created_at: float
    updated_at: float
    next_fire_at: float | None
    run_at: float | None


class Firing(msgspec.Struct, frozen=True):
    """A time a schedule was due, and the outcome."""

    schedule_id: int
    fire_at: float
    at: float
    outcome: Outcome
    reason: str
    run_id: int | None
    """The run it created; after a retry, the newest one."""
    tries: int = 0
    """Retries of its failed run."""


def starts_at(schedule_id: int, fire_at: float, jitter_s: float) -> float:
    """Return the start time of a firing: `fire_at` plus a share of the jitter that depends only on schedule
    and time.
    """
    if jitter_s <= 0:
        return fire_at
    mark = hashlib.blake2b(f"{schedule_id}:{fire_at!r}".encode(), digest_size=8).digest()
    return fire_at + round(jitter_s * int.from_bytes(mark) / 2**64, 3)
