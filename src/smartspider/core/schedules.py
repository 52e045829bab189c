"""Schedules: when a task is run by itself."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

Overlap = Literal["skip", "queue", "allow", "cancel"]
"""What happens when the run before is not over: leave this one out, start it when that is over, start it
beside it, or cancel that one.
"""
Outcome = Literal["started", "skipped", "missed", "failed"]


class ScheduleRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """When, and what to do when that cannot be. Exactly one of `cron`, `every_s` and `at` is given."""

    cron: str | None = None
    every_s: float | None = None
    at: float | None = None
    """One moment."""
    timezone: str = "UTC"
    misfire_s: float = 300.0
    """How late a run may still be started."""
    coalesce: bool = True
    """Of several times that were missed, only the last is made up for."""
    overlap: Overlap = "skip"
    jitter_s: float = 0.0
    """Started up to this much later, by chance that is the same for everybody who asks."""
    retries: int = 0
    """How often a run that failed is tried again."""
    retry_delay_s: float = 300.0


class ScheduleRecord(msgspec.Struct, frozen=True):
    """A schedule that is kept."""

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
    """One time a schedule was due, and what came of it."""

    schedule_id: int
    fire_at: float
    at: float
    outcome: Outcome
    reason: str
    run_id: int | None
    """The run it made; the newest one when it was tried again."""
    tries: int = 0
    """How often a run of it that failed was tried again."""


def starts_at(schedule_id: int, fire_at: float, jitter_s: float) -> float:
    """When a run that is due at a time is really started: later by a part of the jitter that is always the
    same for this schedule and time.
    """
    if jitter_s <= 0:
        return fire_at
    mark = hashlib.blake2b(f"{schedule_id}:{fire_at!r}".encode(), digest_size=8).digest()
    return fire_at + round(jitter_s * int.from_bytes(mark) / 2**64, 3)
