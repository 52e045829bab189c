"""Speed and remaining time of a run, as pure functions of its progress."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.runs.run import UNFINISHED, Counters
from smartspider.store.diagnostics.progress import HostQueue, RunProgress

_MIN_SPAN_S = 1.0
"""Minimum time span to compute a rate from."""


class Eta(msgspec.Struct, frozen=True):
    """Estimated seconds until all open requests are fetched, with bounds; None if unknown."""

    eta_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None


def error_rate(counters: Counters) -> float:
    """Return the share of failed requests among those that ended."""
    return round(counters.failed / counters.ended, 4) if counters.ended else 0.0


def pages_per_s(progress: RunProgress) -> float:
    """Return requests per second: recent for a running run, average for an ended one, 0 for a paused one."""
    run = progress.run
    if run.state in ("running", "stopping"):
        return round(_recent_rate(progress), 3)
    return round(_average_rate(progress), 3) if run.state not in UNFINISHED else 0.0


def _recent_rate(progress: RunProgress) -> float:
    """Return the rate since the earlier mark, or since the run was resumed if that is later."""
    since = progress.run.started_at or progress.run.created_at
    count = progress.run.counters.ended
    if progress.earlier is not None:
        since, count = progress.earlier.at, count - progress.earlier.ended
    elif progress.active_s:
        since = progress.now - progress.active_s
    seconds = progress.now - max(since, progress.resumed_at or 0.0)
    return max(count, 0) / max(seconds, _MIN_SPAN_S)


def _average_rate(progress: RunProgress) -> float:
    return progress.run.counters.ended / progress.active_s if progress.active_s > 0.0 else 0.0


def eta(progress: RunProgress) -> Eta:
    """Estimate from open requests, recent and average rate, and the minimum time that the gates need."""
    run = progress.run
    if run.state not in UNFINISHED:
        return Eta(0.0, 0.0, 0.0)
    if run.state not in ("running", "stopping"):
        return Eta()
    left = run.in_flight if run.state == "stopping" else run.counters.open
    floor_s = min_queue_s(progress.queues, progress.now) if run.state == "running" else 0.0
    lately, average = _recent_rate(progress), _average_rate(progress)
    if left == 0:
        return Eta(0.0, 0.0, 0.0)
    rates = [rate for rate in (lately, average) if rate > 0.0]
    if not rates:
        return Eta(None, round(floor_s, 1), None)
    needed = [max(floor_s, left / rate) for rate in rates]
    likely = max(floor_s, left / lately) if lately > 0.0 else max(needed)
    return Eta(round(likely, 1), round(min(needed), 1), round(max(needed), 1))


def min_queue_s(queues: Sequence[HostQueue], now: float) -> float:
    """Return the minimum seconds that the slowest host needs for its queue: its hold, and one delay per
    request.
    """
    return max(
        (
            max(queue.opens_at - now, 0.0) + (queue.queued - 1) * queue.delay_s
            for queue in queues
            if queue.queued
        ),
        default=0.0,
    )
