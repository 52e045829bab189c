"""Tuning: settings of a run that can be changed while it runs.

One shape for every place a change passes: keywords of the client, JSON of the API, and the stored row.
"""

from __future__ import annotations

from typing import Any, TypedDict


class LimitTuning(TypedDict, total=False):
    """Limits to change; None removes a limit."""

    max_pages: int | None
    max_items: int | None
    max_depth: int | None
    max_duration_s: float | None
    max_errors: int | None


class Tuning(TypedDict, total=False):
    """Settings to change; omitted ones stay. `rate_per_s` None removes the rate."""

    concurrency: int
    delay_s: float
    rate_per_s: float | None
    per_host: int
    priority: int
    limits: LimitTuning


def settings_of(tuning: Tuning) -> dict[str, Any]:
    """Return the settings of a tuning by name, limits included."""
    own = {name: value for name, value in tuning.items() if name != "limits"}
    return {**own, **tuning.get("limits", {})}


def merged(older: Tuning, newer: Tuning) -> Tuning:
    """Return both tunings as one; the newer one wins."""
    limits: LimitTuning = {**older.get("limits", {}), **newer.get("limits", {})}
    return {**older, **newer, "limits": limits}
