"""Tuning: settings of a run that can be changed while it runs."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from smartspider.core.runs.plan import Plan, RunLimits

T = TypeVar("T", bound=msgspec.Struct)


class LimitTuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits to change; None removes a limit, unset ones stay."""

    max_pages: int | UnsetType | None = UNSET
    max_items: int | UnsetType | None = UNSET
    max_depth: int | UnsetType | None = UNSET
    max_duration_s: float | UnsetType | None = UNSET
    max_errors: int | UnsetType | None = UNSET


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings to change; unset ones stay. `rate_per_s` None removes the rate."""

    concurrency: int | UnsetType = UNSET
    delay_s: float | UnsetType = UNSET
    rate_per_s: float | UnsetType | None = UNSET
    per_host: int | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    limits: LimitTuning = LimitTuning()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is set."""
        return self == Tuning()

    def merged_onto(self, older: Tuning) -> Tuning:
        """Return `older` with the settings of this tuning applied."""
        limits = _merged(older.limits, self.limits)
        return msgspec.structs.replace(_merged(older, self), limits=limits)


def apply_tuning(plan: Plan, tuning: Tuning) -> Plan:
    """Return the plan with the tuning applied."""
    polite, limits = plan.politeness, plan.limits
    return msgspec.structs.replace(
        plan,
        politeness=msgspec.structs.replace(
            polite, **_set_fields(tuning, "delay_s", "rate_per_s", "per_host")
        ),
        limits=msgspec.structs.replace(limits, **_set_fields(tuning.limits, *RunLimits.__struct_fields__)),
        concurrency=plan.concurrency if tuning.concurrency is UNSET else tuning.concurrency,
        weight=plan.weight if tuning.priority is UNSET else tuning.priority + 1,
    )


def _set_fields(of: msgspec.Struct, *names: str) -> dict[str, object]:
    return {name: getattr(of, name) for name in names if getattr(of, name) is not UNSET}


def _merged(older: T, newer: T) -> T:
    return msgspec.structs.replace(older, **_set_fields(newer, *newer.__struct_fields__))
