"""Knobs of a run as people write them, with the bounds that the task file has."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from smartspider.core.runs.tuning import LimitTuning, Tuning
from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.sections import Limits


class Knobs(Section):
    """Knobs to turn while a run works; what is left out stays as it is."""

    # Which keys were given is asked of pydantic, so that null can mean "none"; the defaults are never read.
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"concurrency": 4, "delay_s": 1.5, "limits": {"max_pages": 500}}]}
    )

    concurrency: int = Field(default_factory=int, ge=1, le=10_000, description="Requests in flight at most.")
    delay_s: float = Field(
        default_factory=float, ge=0, le=86_400, description="Seconds from start to start on one host."
    )
    rate_per_s: float | None = Field(
        default=None, gt=0, le=100_000, description="Requests per second and host at most; null: no rate."
    )
    per_host: int = Field(default_factory=int, ge=1, le=10_000, description="Requests in flight per host.")
    priority: int = Field(
        default_factory=int, ge=0, le=1000, description="Share of a busy host: n counts n + 1 times."
    )
    limits: Limits = Field(default=Limits(), description="Limits to set; null takes one away.")

    def to_tuning(self) -> Tuning:
        """What was given, as the store takes it."""
        own = _given(self)
        own.pop("limits", None)
        return Tuning(**own, limits=LimitTuning(**_given(self.limits)))


def _given(part: Section) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.model_fields_set}
