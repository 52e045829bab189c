"""Views of schedules."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.schedules import Firing, Outcome, Overlap, ScheduleRecord


class ScheduleView(msgspec.Struct, frozen=True):
    """A schedule: exactly one of `cron`, `every_s` and `at` is not null."""

    id: str
    task_id: str
    task: str
    cron: str | None
    every_s: float | None
    at: str | None
    timezone: str
    misfire_s: float
    coalesce: bool
    overlap: Overlap
    jitter_s: float
    retries: int
    retry_delay_s: float
    enabled: bool
    of_task: bool
    """True if the schedule is defined in the task file."""
    next_fire_at: str | None
    """Null if the schedule is disabled or has no further start time."""
    created_by: str
    created_at: str
    updated_at: str


class ScheduleDetail(ScheduleView, frozen=True):
    """A schedule and its next start times."""

    next_times: list[str]


class FiringView(msgspec.Struct, frozen=True):
    """A firing of a schedule and its outcome. `run_id` is the newest run it started."""

    schedule_id: str
    fire_at: str
    at: str
    outcome: Outcome
    reason: str
    run_id: str | None
    tries: int


class PreviewedTimes(msgspec.Struct, frozen=True):
    """The next start times of a rule."""

    timezone: str
    next_times: list[str]


class Fired(msgspec.Struct, frozen=True):
    """A run that was started manually."""

    run_id: str
    schedule_id: str


def schedule_view(schedule: ScheduleRecord, task: str) -> ScheduleView:
    """Return the view of a schedule."""
    return ScheduleView(**_fields(schedule, task))


def schedule_detail(schedule: ScheduleRecord, task: str, times: list[float]) -> ScheduleDetail:
    """Return the view of a schedule with the next times it is due."""
    return ScheduleDetail(**_fields(schedule, task), next_times=[format_time(at) for at in times])


def _fields(schedule: ScheduleRecord, task: str) -> dict[str, Any]:
    rule = schedule.rule
    return {
        "id": str(schedule.id),
        "task_id": str(schedule.task_id),
        "task": task,
        "cron": rule.cron,
        "every_s": rule.every_s,
        "at": format_time(rule.at),
        "timezone": rule.timezone,
        "misfire_s": rule.misfire_s,
        "coalesce": rule.coalesce,
        "overlap": rule.overlap,
        "jitter_s": rule.jitter_s,
        "retries": rule.retries,
        "retry_delay_s": rule.retry_delay_s,
        "enabled": schedule.is_enabled,
        "of_task": schedule.is_of_task,
        "next_fire_at": format_time(schedule.next_fire_at) if schedule.is_enabled else None,
        "created_by": schedule.created_by,
        "created_at": format_time(schedule.created_at),
        "updated_at": format_time(schedule.updated_at),
    }


def firing_view(firing: Firing) -> FiringView:
    """Return the view of a firing."""
    return FiringView(
        *(
            str(firing.schedule_id),
            format_time(firing.fire_at),
            format_time(firing.at),
            firing.outcome,
            firing.reason,
        ),
        run_id=None if firing.run_id is None else str(firing.run_id),
        tries=firing.tries,
    )
