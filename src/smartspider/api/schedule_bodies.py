"""Schedules as bodies, with the words of the task's `schedule`; what they mean is checked where that is."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from smartspider.core.schedules import Overlap
from smartspider.taskfile.scheduling import DAY_S, LONGEST_S
from smartspider.taskfile.timing import LONGEST_CRON, LONGEST_ZONE

Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]


class RuleBody(BaseModel):
    """When, and what to do when that cannot be. Give one of `cron`, `every_s` and `at`."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"cron": "0 6 * * *", "timezone": "Europe/Berlin"}]}
    )

    cron: str | None = Field(
        None, max_length=LONGEST_CRON, description="5 fields, 6 with seconds, or a nickname like @daily."
    )
    every_s: Annotated[float, Field(ge=1, le=LONGEST_S, allow_inf_nan=False)] | None = Field(
        None, description="Seconds between two starts."
    )
    at: str | None = Field(
        None, max_length=64, description="One moment (ISO 8601); without a zone, in `timezone`."
    )
    timezone: str | None = Field(None, max_length=LONGEST_ZONE, description="IANA name; default UTC.")
    misfire: Literal["skip", "once", "all"] | None = Field(
        None, description="What happens to starts that were missed, however late it is."
    )
    misfire_s: Seconds | None = Field(None, description="How late a run may still be started; default 300.")
    coalesce: bool | None = Field(
        None, description="Of several starts that were missed, only the last is made up for; default true."
    )
    overlap: bool | Overlap | None = Field(
        None, description="When the run before is not over: skip (default), queue, allow or cancel that one."
    )
    jitter_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] | None = Field(
        None, description="Started up to this much later."
    )
    retries: int | None = Field(None, ge=0, le=20, description="How often a failed run is tried again.")
    retry_delay_s: Annotated[float, Field(ge=0, le=7 * DAY_S, allow_inf_nan=False)] | None = Field(
        None, description="Seconds before it is; default 300."
    )

    def knobs(self) -> dict[str, Any]:
        """What was given, without nulls: they stand for the defaults."""
        return self.model_dump(exclude={"task_id", "enabled"}, exclude_none=True)


class ScheduleBody(RuleBody):
    """A schedule to be made."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"task_id": "1", "cron": "0 6 * * *", "timezone": "Europe/Berlin", "enabled": True},
                {"task_id": "shop_prices", "every_s": 3600, "overlap": "queue", "retries": 2},
            ]
        },
    )

    task_id: str = Field(min_length=1, max_length=200, description="The id of a task, or its name.")
    enabled: bool = Field(True, description="Whether it starts runs.")


class ScheduleChange(RuleBody):
    """What is to be different; the rest stays."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"enabled": False}, {"cron": "30 5 * * *"}]}
    )

    enabled: bool | None = Field(None, description="Whether it starts runs.")
