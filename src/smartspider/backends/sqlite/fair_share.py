"""Sharing the slots of a worker among runs. All functions run inside a transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from smartspider.backends.sqlite import queue
from smartspider.core.frontier.lease import WeightedTurns
from smartspider.store.database import Connection, rows

SQL = queue.SQL


class RunShare(msgspec.Struct):
    """A run that may get some of the slots."""

    run_id: int
    weight: int
    room: int
    """Number of further requests it may have in flight."""


def share_out(
    connection: Connection, collector: queue.LeaseCollector, shares: Sequence[RunShare], turns: WeightedTurns
) -> None:
    """Fill the collector: each run up to its share of the worker by weight, then the rest to runs that can
    use it.
    """
    if len(shares) == 1:
        _lease(connection, collector, shares[0], collector.free)
        return
    turns.keep(share.run_id for share in shares)
    run_ids = json.dumps([share.run_id for share in shares if share.room > 0])
    open_runs = {run_id for (run_id,) in rows(connection, SQL.with_open_lanes, (run_ids,))}
    able = [share for share in shares if share.run_id in open_runs]
    held: dict[int, int] = {}
    if len(able) > 1:
        held = dict(rows(connection, SQL.held_by, (collector.worker_id,)))
    waiting = _in_order(able, turns)
    grants = fair_shares(collector.free, waiting, held)
    while collector.free > 0 and waiting:
        filled = []
        for share in waiting:
            grant = grants.get(share.run_id, 0)
            got = _lease(connection, collector, share, grant)
            turns.charge({share.run_id: got / share.weight})
            if got == grant:
                filled.append(share)
        waiting = _in_order(filled, turns)
        grants = divide(collector.free, waiting)
    for share in able if collector.free > 0 else ():  # a run that had to wait for another's turn may take now
        got = _lease(connection, collector, share, collector.free)
        turns.charge({share.run_id: got / share.weight})


def _in_order(shares: Sequence[RunShare], turns: WeightedTurns) -> list[RunShare]:
    return sorted(shares, key=lambda share: turns.served(share.run_id))


def _lease(connection: Connection, collector: queue.LeaseCollector, share: RunShare, count: int) -> int:
    got = 0
    if count > 0 and share.room > 0:
        got = queue.take(connection, collector, share.run_id, min(count, share.room), share.weight)
        share.room -= got
    return got


def fair_shares(free: int, shares: Sequence[RunShare], held: Mapping[int, int]) -> dict[int, int]:
    """Return what each run lacks to its share of all slots of the worker, those it holds included."""
    places = free + sum(held.get(share.run_id, 0) for share in shares)
    weights = sum(share.weight for share in shares)
    lacks = {share.run_id: places * share.weight // weights - held.get(share.run_id, 0) for share in shares}
    behind = [share for share in shares if lacks[share.run_id] > 0]
    if not behind:
        return divide(free, shares)
    if sum(lacks[share.run_id] for share in behind) <= free:
        return {share.run_id: lacks[share.run_id] for share in behind}
    return {run_id: min(part, lacks[run_id]) for run_id, part in divide(free, behind).items()}


def divide(free: int, shares: Sequence[RunShare]) -> dict[int, int]:
    """Divide slots by weight; if there are too few, one for each of the first runs."""
    weights = sum(share.weight for share in shares)
    parts = {share.run_id: free * share.weight // weights for share in shares}
    if any(parts.values()):
        return parts
    return {share.run_id: 1 for share in shares[:free]}
