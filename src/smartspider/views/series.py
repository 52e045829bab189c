"""Views of the series of a run: its course over time."""

from __future__ import annotations

import msgspec


class SeriesPoint(msgspec.Struct, frozen=True):
    """A period of a run. `queued` and `in_flight` are those at its end; the others count what happened in
    it.
    """

    at: str
    """The end of the period."""
    seconds: float
    success: int
    redirects: int
    missing: int
    skipped: int
    failed: int
    retries: int
    items: int
    rejected: int
    bytes_read: int
    queued: int
    in_flight: int


class SeriesMark(msgspec.Struct, frozen=True):
    """An event that explains the course of a run: a change of its state or settings, a held host, a guard."""

    at: str
    event: str
    data: msgspec.Raw


class SeriesView(msgspec.Struct, frozen=True):
    """The course of a run over time. Over a whole run, the points add up to its counters, except that
    requests which failed and were retried count as failed where they did.
    """

    run_id: str
    since: str
    until: str
    points: list[SeriesPoint]
    marks: list[SeriesMark]
