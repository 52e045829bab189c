"""The `schedule` of a task: when runs start by themselves, and what happens when that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, Tag

from smartspider.core.errors import Problem
from smartspider.core.schedules import Overlap, ScheduleRule
from smartspider.taskfile.model.forms import MARK, SWITCH, TEXT, Section, by_form
from smartspider.taskfile.model.values import Cron, Text, Timezone
from smartspider.taskfile.timing import parse_local_time

DAY_S = 86_400.0
LONGEST_S = 366 * DAY_S
SKIP_GRACE_S = 60.0
"""What is later than this was missed; a keeper that takes over needs some seconds."""
WHEN = ("cron", "every_s", "at")
WORD = MARK + "word"


class Schedule(Section):
    """When runs start by themselves: by `cron`, every so many seconds, or once."""

    cron: Cron | None = Field(
        default=None,
        description="Cron expression with 5 or 6 fields, or a nickname like @daily.",
        examples=["0 6 * * *"],
    )
    every_s: float | None = Field(
        default=None, ge=1, le=LONGEST_S, description="Seconds between two starts, instead of cron."
    )
    at: Text | None = Field(
        default=None,
        description="One moment (ISO 8601), instead of cron; without a zone, in `timezone`.",
        examples=["2026-12-24T18:00:00"],
    )
    timezone: Timezone = Field(default="UTC", description="IANA name of the time zone.")
    misfire: Literal["skip", "once", "all"] | None = Field(
        default=None,
        description="What happens to starts that were missed, however late it is: left out, the last one made"
        " up for, or all of them. Without: the last one, within `misfire_s`.",
    )
    misfire_s: float | None = Field(
        default=None, ge=0, le=LONGEST_S, description="How late a run may still be started; default 300."
    )
    coalesce: bool | None = Field(
        default=None, description="Of several starts that were missed, only the last is made up for."
    )
    overlap: Annotated[
        Annotated[bool, Tag(SWITCH)] | Annotated[Overlap, Tag(WORD)],
        by_form({SWITCH: SWITCH, TEXT: WORD}, "true, false, 'skip', 'queue', 'allow' or 'cancel'"),
    ] = Field(
        default=False,
        description="What happens when the run before is not over: skip (false) this one, queue it until"
        " then, allow (true) both, or cancel the one before.",
    )
    jitter_s: float = Field(default=0.0, ge=0, le=3600, description="Started up to this much later.")
    retries: int = Field(default=0, ge=0, le=20, description="How often a run that failed is tried again.")
    retry_delay_s: float = Field(
        default=300.0, ge=0, le=7 * DAY_S, description="Seconds before it is tried again."
    )


def find_schedule_problems(schedule: Schedule, prefix: str = "") -> Iterator[Problem]:
    """What contradicts itself."""
    given = [name for name in WHEN if getattr(schedule, name) is not None]
    if not given:
        yield Problem(f"{prefix}cron", "the key 'cron' is missing", "or give every_s, or at")
    if len(given) > 1:
        yield Problem(
            f"{prefix}{given[1]}", f"stands beside {given[0]!r}", "keep one of cron, every_s and at"
        )
    elif schedule.at is not None:
        try:
            parse_local_time(schedule.at, schedule.timezone)
        except ValueError:
            yield Problem(
                f"{prefix}at", f"{schedule.at[:40]!r} is not a moment", "ISO 8601, like '2026-12-24T18:00:00'"
            )


def schedule_rule(schedule: str | Schedule) -> ScheduleRule:
    """The rule that a checked schedule means."""
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
    """The word stands for both knobs; a knob that is given itself wins."""
    words = {
        None: (None, None),
        "skip": (SKIP_GRACE_S, True),
        "once": (LONGEST_S, True),
        "all": (LONGEST_S, False),
    }
    misfire_s, coalesce = words[schedule.misfire]
    return (
        misfire_s if schedule.misfire_s is None else schedule.misfire_s,
        coalesce if schedule.coalesce is None else schedule.coalesce,
    )
