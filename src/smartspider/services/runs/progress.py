"""How fast a run is and when it may be over, as pure functions of how it stands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.runs.run import UNFINISHED, Counters
from smartspider.store.diagnostics.progress import HostQueue, RunProgress

_SOONEST_S = 1.0
"""Less time than this says nothing about a rate."""


class Eta(msgspec.Struct, frozen=True):
    """Seconds until what is known now is fetched, and between which bounds; None: not to be told."""

    eta_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None


def error_rate(counters: Counters) -> float:
    """Failed requests among those that ended."""
    return round(counters.failed / counters.ended, 4) if counters.ended else 0.0


def pages_per_s(standing: RunProgress) -> float:
    """Requests that ended a second: lately while a run works, in all when it is over, none while it rests."""
    run = standing.run
    if run.state in ("running", "stopping"):
        return round(_lately(standing), 3)
    return round(_average(standing), 3) if run.state not in UNFINISHED else 0.0


def _lately(standing: RunProgress) -> float:
    """Since the earlier mark, or since the run went on if that is later: nothing ended in between."""
    since = standing.run.started_at or standing.run.created_at
    count = standing.run.counters.ended
    if standing.earlier is not None:
        since, count = standing.earlier.at, count - standing.earlier.ended
    elif standing.active_s:
        since = standing.now - standing.active_s
    seconds = standing.now - max(since, standing.resumed_at or 0.0)
    return max(count, 0) / max(seconds, _SOONEST_S)


def _average(standing: RunProgress) -> float:
    return standing.run.counters.ended / standing.active_s if standing.active_s > 0.0 else 0.0


def eta(standing: RunProgress) -> Eta:
    """From what is open, how fast the run was lately and in all, and what its gates let through at best."""
    run = standing.run
    if run.state not in UNFINISHED:
        return Eta(0.0, 0.0, 0.0)
    if run.state not in ("running", "stopping"):
        return Eta()
    left = run.in_flight if run.state == "stopping" else run.counters.open
    floor_s = gates_need_s(standing.queues, standing.now) if run.state == "running" else 0.0
    lately, average = _lately(standing), _average(standing)
    if left == 0:
        return Eta(0.0, 0.0, 0.0)
    rates = [rate for rate in (lately, average) if rate > 0.0]
    if not rates:
        return Eta(None, round(floor_s, 1), None)
    needed = [max(floor_s, left / rate) for rate in rates]
    likely = max(floor_s, left / lately) if lately > 0.0 else max(needed)
    return Eta(round(likely, 1), round(min(needed), 1), round(max(needed), 1))


def gates_need_s(queues: Sequence[HostQueue], now: float) -> float:
    """Seconds that the slowest host needs for what is queued: its hold, and a delay from start to start."""
    return max(
        (
            max(queue.opens_at - now, 0.0) + (queue.queued - 1) * queue.delay_s
            for queue in queues
            if queue.queued
        ),
        default=0.0,
    )
