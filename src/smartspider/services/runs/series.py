"""The series of a run: its counters over time, in periods of equal length."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import RequestInvalid
from smartspider.core.events import PROGRESS
from smartspider.core.redaction.masking import mask_view
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_time
from smartspider.store.events import RunPoint
from smartspider.views.runs import SeriesMark, SeriesPoint, SeriesView


class Progress(msgspec.Struct, frozen=True):
    """The counters of a progress event that a series shows."""

    success_count: int = 0
    redirect_count: int = 0
    missing_count: int = 0
    skipped_count: int = 0
    fail_count: int = 0
    retry_count: int = 0
    items: int = 0
    rejected: int = 0
    bytes_read: int = 0
    queued: int = 0
    in_flight: int = 0


class SeriesQuery(msgspec.Struct, frozen=True):
    """A part of a series, and the largest number of its points."""

    since: str | None = None
    until: str | None = None
    points: int = 120


HOUR_S = 3600.0
RUNS_READ = 30

_decode = msgspec.json.Decoder(Progress).decode


async def get_series(installation: Installation, run_id: int, wanted: SeriesQuery) -> SeriesView:
    """Return the course of a run over time. There are no more periods than known moments, so that none seems
    empty for want of one.
    """
    run = await installation.store.get_run(run_id)
    ended_at = run.finished_at or installation.clock.now()
    since, until = _bounds(wanted, run.created_at, ended_at)
    found = await installation.events.series(run.id)
    progress = _progress(found)
    known = sum(since < at <= until for at, _ in progress)
    return SeriesView(
        run_id=str(run.id),
        since=format_time(since),
        until=format_time(until),
        points=periods(progress, since, until, min(wanted.points, known)),
        marks=[_mark(one) for one in found if one.name != PROGRESS and since <= one.at <= until],
    )


async def get_total_series(installation: Installation, wanted: SeriesQuery) -> SeriesView:
    """Return the course of all runs together, of the last hour by default. The newest runs count, up to
    `RUNS_READ`.
    """
    now = installation.clock.now()
    since, until = _bounds(wanted, now - HOUR_S, now)
    newest = await installation.store.list_runs(limit=RUNS_READ)
    runs = [run for run in newest if run.started_at and (run.finished_at or now) > since]
    courses = [
        periods(_progress(await installation.events.series(run.id)), since, until, wanted.points)
        for run in runs
    ]
    return SeriesView(
        run_id=None,
        since=format_time(since),
        until=format_time(until),
        points=[_sum(points) for points in zip(*courses, strict=True)],
        marks=[],
    )


def _bounds(wanted: SeriesQuery, begin: float, end: float) -> tuple[float, float]:
    since = parse_time("since", wanted.since)
    until = parse_time("until", wanted.until)
    bounds = (begin if since is None else since, end if until is None else until)
    if bounds[0] > bounds[1]:
        raise RequestInvalid("`since` is later than `until`", hint="swap them")
    return bounds


def _progress(found: Sequence[RunPoint]) -> list[tuple[float, Progress]]:
    return [(one.at, _decode(one.data)) for one in found if one.name == PROGRESS]


def periods(
    progress: Sequence[tuple[float, Progress]], since: float, until: float, number: int
) -> list[SeriesPoint]:
    """Return what happened in a number of periods of equal length, from counters that only grow."""
    before = [one for at, one in progress if at <= since]
    inside = [(at, one) for at, one in progress if since < at <= until]
    length = (until - since) / number if number else 0.0
    last = before[-1] if before else Progress()
    found, place = [], 0
    for period in range(1, number + 1):
        end = until if period == number else since + period * length
        first = last
        while place < len(inside) and inside[place][0] <= end:
            last = inside[place][1]
            place += 1
        found.append(_point(first, last, end, length))
    return found


def _sum(points: Sequence[SeriesPoint]) -> SeriesPoint:
    """Return the sum of what several runs did in one period."""
    total = {
        name: sum(getattr(one, name) for one in points)
        for name in SeriesPoint.__struct_fields__
        if name not in ("at", "seconds")
    }
    return SeriesPoint(at=points[0].at, seconds=points[0].seconds, **total)


def _point(first: Progress, last: Progress, end: float, length: float) -> SeriesPoint:
    return SeriesPoint(
        at=format_time(end),
        seconds=round(length, 3),
        success=last.success_count - first.success_count,
        redirects=last.redirect_count - first.redirect_count,
        missing=last.missing_count - first.missing_count,
        # Retries reopen failed and skipped requests.
        skipped=max(last.skipped_count - first.skipped_count, 0),
        failed=max(last.fail_count - first.fail_count, 0),
        retries=last.retry_count - first.retry_count,
        items=last.items - first.items,
        rejected=last.rejected - first.rejected,
        bytes_read=last.bytes_read - first.bytes_read,
        queued=last.queued,
        in_flight=last.in_flight,
    )


def _mark(point: RunPoint) -> SeriesMark:
    return SeriesMark(format_time(point.at), point.name, mask_view(msgspec.json.decode(point.data)))
