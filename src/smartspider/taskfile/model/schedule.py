"""The `schedule` of a task: when runs start, and how missed starts are handled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, Tag

from smartspider.core.errors import Problem
from smartspider.core.schedules import MAX_INTERVAL_S, MAX_RETRY_DELAY_S, Overlap, ScheduleRule
from smartspider.taskfile.model.forms import MARK, SWITCH, TEXT, Section, by_form
from smartspider.taskfile.model.values import Cron, Text, Timezone
from smartspider.taskfile.timing import parse_local_time

SKIP_GRACE_S = 60.0
"""Tolerance of `misfire: skip`: a keeper that takes over needs some seconds."""
WHEN = ("cron", "every_s", "at")
WORD = MARK + "word"


class Schedule(Section):
    """The start times of runs: by `cron`, at an interval, or once."""

    cron: Cron | None = Field(
        default=None,
        description="Cron expression with 5 or 6 fields, or a nickname like @daily.",
        examples=["0 6 * * *"],
    )
    every_s: float | None = Field(
        default=None, ge=1, le=MAX_INTERVAL_S, description="Seconds between two starts, instead of cron."
    )
    at: Text | None = Field(
        default=None,
        description="A single time (ISO 8601) instead of cron; in `timezone` if it has no zone.",
        examples=["2026-12-24T18:00:00"],
    )
    timezone: Timezone = Field(default="UTC", description="IANA name of the time zone.")
    misfire: Literal["skip", "once", "all"] | None = Field(
        default=None,
        description="How missed starts are handled, however late: skip them, make up for the last one, or"
        " for all. Default: the last one, within `misfire_s`.",
    )
    misfire_s: float | None = Field(
        default=None, ge=0, le=MAX_INTERVAL_S, description="Maximum delay of a missed start; default 300."
    )
    coalesce: bool | None = Field(
        default=None, description="If several starts were missed, run only the last one."
    )
    overlap: Annotated[
        Annotated[bool, Tag(SWITCH)] | Annotated[Overlap, Tag(WORD)],
        by_form({SWITCH: SWITCH, TEXT: WORD}, "true, false, 'skip', 'queue', 'allow' or 'cancel'"),
    ] = Field(
        default=False,
        description="If the previous run has not finished: skip (false) this one, queue it until then,"
        " allow (true) both, or cancel the previous one.",
    )
    jitter_s: float = Field(default=0.0, ge=0, le=3600, description="Maximum random delay of a start.")
    retries: int = Field(default=0, ge=0, le=20, description="Maximum retries of a failed run.")
    retry_delay_s: float = Field(
        default=300.0, ge=0, le=MAX_RETRY_DELAY_S, description="Seconds before a retry."
    )


def find_schedule_problems(schedule: Schedule, prefix: str = "") -> Iterator[Problem]:
    """Yield the contradictions in a schedule."""
    given = [name for name in WHEN if getattr(schedule, name) is not None]
    if not given:
        yield Problem(f"{prefix}cron", "the key 'cron' is missing", "set cron, every_s or at")
    if len(given) > 1:
        yield Problem(
            f"{prefix}{given[1]}", f"cannot be combined with {given[0]!r}", "keep one of cron, every_s and at"
        )
    elif schedule.at is not None:
        try:
            parse_local_time(schedule.at, schedule.timezone)
        except ValueError:
            yield Problem(
                f"{prefix}at",
                f"{schedule.at[:40]!r} is not a date and time",
                "ISO 8601, like '2026-12-24T18:00:00'",
            )


def schedule_rule(schedule: str | Schedule) -> ScheduleRule:
    """Return the rule of a validated schedule."""
    if isinstance(schedule, str):
        return ScheduleRule(cron=schedule.strip())
    defaults = ScheduleRule(cron="")
    misfire_s, coalesce = _misfire(schedule)
    overlap = schedule.overlap
    return ScheduleRule(
        cron=None if schedule.cron is None else schedule.cron.strip(),
        every_s=schedule.every_s,
        at=None if schedule.at is None else parse_local_time(schedule.at, schedule.timezone),
        timezone=schedule.timezone,
        misfire_s=defaults.misfire_s if misfire_s is None else misfire_s,
        coalesce=defaults.coalesce if coalesce is None else coalesce,
        overlap=("allow" if overlap else "skip") if isinstance(overlap, bool) else overlap,
        jitter_s=schedule.jitter_s,
        retries=schedule.retries,
        retry_delay_s=schedule.retry_delay_s,
    )


def _misfire(schedule: Schedule) -> tuple[float | None, bool | None]:
    """Return `misfire_s` and `coalesce`: explicit values override those of `misfire`."""
    words = {
        None: (None, None),
        "skip": (SKIP_GRACE_S, True),
        "once": (MAX_INTERVAL_S, True),
        "all": (MAX_INTERVAL_S, False),
    }
    misfire_s, coalesce = words[schedule.misfire]
    return (
        misfire_s if schedule.misfire_s is None else schedule.misfire_s,
        coalesce if schedule.coalesce is None else schedule.coalesce,
    )
