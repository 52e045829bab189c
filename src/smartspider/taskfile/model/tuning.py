"""Tuning of a run as users write it, with the bounds of the task file."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from smartspider.core.runs.tuning import LimitTuning, Tuning
from smartspider.taskfile.model.forms import Section
from smartspider.taskfile.model.sections import Limits


class Knobs(Section):
    """Settings to change while a run is active. Omitted settings stay unchanged."""

    # Pydantic records which keys were set, so that null can mean "none"; the defaults are never read.
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"concurrency": 4, "delay_s": 1.5, "limits": {"max_pages": 500}}]}
    )

    concurrency: int = Field(default_factory=int, ge=1, le=10_000, description="Maximum concurrent requests.")
    delay_s: float = Field(
        default_factory=float, ge=0, le=86_400, description="Seconds between requests to a host."
    )
    rate_per_s: float | None = Field(
        default=None, gt=0, le=100_000, description="Maximum requests per second and host; null: no rate."
    )
    per_host: int = Field(default_factory=int, ge=1, le=10_000, description="Concurrent requests per host.")
    priority: int = Field(
        default_factory=int,
        ge=0,
        le=1000,
        description="Weight on hosts shared with other runs: n counts as n + 1.",
    )
    limits: Limits = Field(default=Limits(), description="Limits to change; null removes one.")

    def to_tuning(self) -> Tuning:
        """Return the keys that were set as a core value."""
        own = _set_keys(self)
        own.pop("limits", None)
        return Tuning(**own, limits=LimitTuning(**_set_keys(self.limits)))


def _set_keys(section: Section) -> dict[str, Any]:
    return {name: getattr(section, name) for name in section.model_fields_set}
