"""Knobs of a run that can be turned while it runs."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from smartspider.core.runs.plan import Plan, RunLimits

T = TypeVar("T", bound=msgspec.Struct)


class LimitTuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits to set; None takes one away, what is not named stays."""

    max_pages: int | UnsetType | None = UNSET
    max_items: int | UnsetType | None = UNSET
    max_depth: int | UnsetType | None = UNSET
    max_duration_s: float | UnsetType | None = UNSET
    max_errors: int | UnsetType | None = UNSET


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Knobs to turn; what is not named stays. `rate_per_s` None takes the rate away."""

    concurrency: int | UnsetType = UNSET
    delay_s: float | UnsetType = UNSET
    rate_per_s: float | UnsetType | None = UNSET
    per_host: int | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    limits: LimitTuning = LimitTuning()

    @property
    def is_empty(self) -> bool:
        """Whether it turns nothing."""
        return self == Tuning()

    def over(self, older: Tuning) -> Tuning:
        """What holds when this is turned after `older`."""
        limits = _merged(older.limits, self.limits)
        return msgspec.structs.replace(_merged(older, self), limits=limits)


def tuned(plan: Plan, tuning: Tuning) -> Plan:
    """The plan with the knobs as they are turned now."""
    polite, limits = plan.politeness, plan.limits
    return msgspec.structs.replace(
        plan,
        politeness=msgspec.structs.replace(polite, **_given(tuning, "delay_s", "rate_per_s", "per_host")),
        limits=msgspec.structs.replace(limits, **_given(tuning.limits, *RunLimits.__struct_fields__)),
        concurrency=plan.concurrency if tuning.concurrency is UNSET else tuning.concurrency,
        weight=plan.weight if tuning.priority is UNSET else tuning.priority + 1,
    )


def _given(of: msgspec.Struct, *names: str) -> dict[str, object]:
    return {name: getattr(of, name) for name in names if getattr(of, name) is not UNSET}


def _merged(older: T, newer: T) -> T:
    return msgspec.structs.replace(older, **_given(newer, *newer.__struct_fields__))
