"""The lanes, a queue per run and host, and sharing the slots of a worker among runs.

All functions run inside a transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from smartspider.backends.sqlite.gates import gate as gates
from smartspider.backends.sqlite.gates.gate import GateConnection
from smartspider.core.frontier.lease import FencingToken, Lease, SendWindow, WeightedTurns
from smartspider.core.requests.politeness import OwnPace
from smartspider.core.runs.run import run_of
from smartspider.store import statements
from smartspider.store.database import Connection, row, rows
from smartspider.store.frontier_updates import QueueEntry
from smartspider.store.hosts import gates as hosts
from smartspider.store.requests import request_of

SQL = statements.load("sql/frontier.sql", __package__)

LEASE_S = 60.0
ASKING_S = 0.3
"""A run whose workers leased within this time takes its turn at a host."""
SPARE_LANES = 8
"""Lanes read beyond those that could fill the collector, because some turn out to be closed."""


def find_lane(connection: Connection, run_id: int, host_id: int) -> int:
    """Return the lane of a run for a host; a new one if there is none."""
    found = row(connection, SQL.find_lane, (host_id, run_id))
    if found is None:
        connection.execute(SQL.add_lane, (run_id, host_id))
        found = row(connection, SQL.find_lane, (host_id, run_id))
    assert found is not None  # noqa: S101 - it was inserted in this transaction
    return int(found[0])


def enqueue(connection: Connection, run_id: int, entries: Iterable[QueueEntry]) -> None:
    """Queue requests that are not live."""
    by_host: dict[int, list[QueueEntry]] = {}
    for entry in entries:
        by_host.setdefault(entry.host_id, []).append(entry)
    for host_id, group in by_host.items():
        lane_id = find_lane(connection, run_id, host_id)
        connection.executemany(SQL.enqueue, [(lane_id, entry.rank, entry.url_id) for entry in group])
        best = min(entry.rank for entry in group)
        connection.execute(SQL.lane_grew, (len(group), best, lane_id))


def offer(connection: Connection, run_id: int, url_ids: Iterable[int]) -> int:
    """Queue open rows of a run unless they are live."""
    entries = []
    for url_id in sorted({url_id for url_id in url_ids if run_of(url_id) == run_id}):
        found = row(connection, SQL.open_row, (url_id,))
        if found and not row(connection, SQL.is_live, (*found, run_id))[0]:  # type: ignore[index] # EXISTS has a row
            entries.append(QueueEntry(*found))
    enqueue(connection, run_id, entries)
    return len(entries)


def wake(connection: Connection, runs: str, now: float) -> None:
    """Open due lanes and queue due postponed requests of runs (a JSON list)."""
    connection.execute(SQL.wake_lanes, (runs, now))
    due: dict[int, list[QueueEntry]] = {}
    for run_id, *place in rows(connection, SQL.due_later, (runs, now)):
        due.setdefault(run_id, []).append(QueueEntry(*place))
    for run_id, entries in due.items():
        connection.executemany(SQL.drop_later, [(entry.url_id,) for entry in entries])
        enqueue(connection, run_id, entries)


class LeaseCollector(msgspec.Struct):
    """Collects the leases for a worker."""

    worker_id: int
    want: int
    now: float
    clock_shift: float
    leases: list[Lease] = []
    cookie_versions: Mapping[int, int] = {}
    """Versions of the cookies of runs that have any."""

    @property
    def free(self) -> int:
        """The number of further leases that fit."""
        return self.want - len(self.leases)


def take_suspect(connection: GateConnection, collector: LeaseCollector, share: RunShare) -> bool:
    """Return whether a suspect waits for this worker; it is leased once the worker holds nothing else.

    A suspect whose gate is closed is not waited for.
    """
    run_id, room = share.run_id, share.room
    for url_id, host_id in rows(connection, SQL.due_suspects, (run_id, collector.now)):
        gate = gates.claim(connection, host_id)
        if max(gate.opens_at, own_opens_at(connection, share, host_id)) > collector.now:
            continue
        is_idle = not collector.leases and row(connection, SQL.leases_of, (collector.worker_id,)) == (0,)
        if is_idle and room > 0 and gates.room(connection, gate, collector.now) > 0:
            connection.execute(SQL.drop_later, (url_id,))
            suspects = rows(connection, SQL.single, (url_id,))
            windows = gates.reserve(connection, gate, collector.now, leases=1)
            _lease_heads(connection, collector, run_id, suspects, windows, is_alone=True)
            _keep_own_slot(connection, share, host_id, windows[0])
        return True
    return False


def own_opens_at(connection: Connection, share: RunShare, host_id: int) -> float:
    """Return when a run may send to a host again, by what applies to this run alone."""
    if share.pace is None:
        return 0.0
    found = row(connection, SQL.own_slot, (host_id, share.run_id))
    return share.opens_at(host_id, found[0] if found else 0.0)


def _keep_own_slot(connection: Connection, share: RunShare, host_id: int, window: SendWindow) -> None:
    if share.delay_at(host_id):
        connection.execute(SQL.set_own_slot, (window.not_after, host_id, share.run_id))


def take(connection: GateConnection, collector: LeaseCollector, share: RunShare, room: int) -> int:
    """Lease from the open lanes of a run, best first. Return the number of leases."""
    run_id, weight = share.run_id, share.weight
    before = len(collector.leases)
    limit = min(collector.free, room)
    lanes = rows(connection, SQL.open_lanes, (run_id, limit + SPARE_LANES)) if limit > 0 else []
    for lane_id, host_id, queued, served, sent_until in lanes:
        if (opens_at := share.opens_at(host_id, sent_until)) > collector.now:
            connection.execute(SQL.rest, (opens_at, lane_id))
            continue
        gate = gates.claim(connection, host_id)
        slots = gates.room(connection, gate, collector.now)
        turn = max(served, gate.turn - 1.0)
        hungry = (host_id, run_id, turn, collector.now - ASKING_S, gate.turn - 1.0, collector.now)
        if slots > 0 and row(connection, SQL.hungrier, hungry):
            continue
        count = min(slots, limit, queued, 1 if share.delay_at(host_id) else queued)
        if count > 0:
            lane = (lane_id, count, turn, count / weight)
            _keep_own_slot(connection, share, host_id, _take_from(connection, collector, run_id, lane, gate))
            limit -= count
            if gate.delay_s > 0.0:
                gate = gates.read(connection, host_id)
        if count >= slots or gate.delay_s > 0.0:
            gates.close_lanes(connection, gate, collector.now, is_full=gate.opens_at <= collector.now)
        if limit <= 0:
            break
    return len(collector.leases) - before


def take_ahead(
    connection: GateConnection,
    collector: LeaseCollector,
    shares: Sequence[RunShare],
    ahead_s: float,
    turns: WeightedTurns,
) -> None:
    """Lease the next windows of closed hosts that begin within `ahead_s`, the first ones first.

    Runs that queue for the same host get one window each time they ask, in turn. Those with a delay or a hold
    of their own get none ahead.
    """
    for share in _in_order([one for one in shares if one.pace is None], turns):
        limit = min(collector.free, share.room)
        until = collector.now + ahead_s
        lanes = rows(connection, SQL.ahead_lanes, (share.run_id, until, limit)) if limit > 0 else []
        for lane_id, host_id, queued, served in lanes:
            gate = gates.claim(connection, host_id)
            slots = gates.room_ahead(connection, gate, collector.now, until)
            turn = max(served, gate.turn - 1.0)
            if slots > 0 and row(connection, SQL.queues_at, (host_id,)) != (1,):
                since = collector.now - ASKING_S
                hungry = (host_id, share.run_id, turn, since, gate.turn - 1.0, collector.now)
                slots = 0 if row(connection, SQL.hungrier, hungry) else 1
            count = min(slots, limit, queued)
            if count <= 0:
                continue
            lane = (lane_id, count, turn, count / share.weight)
            _take_from(connection, collector, share.run_id, lane, gate)
            gate = gates.read(connection, host_id)
            gates.close_lanes(connection, gate, collector.now, is_full=False)
            share.room -= count
            turns.charge({share.run_id: count / share.weight})
            limit -= count
            if limit <= 0:
                break


def _take_from(
    connection: GateConnection,
    collector: LeaseCollector,
    run_id: int,
    lane: tuple[int, int, float, float],
    gate: hosts.GateState,
) -> SendWindow:
    lane_id, count, turn, share = lane
    heads = rows(connection, SQL.head, (lane_id, count))
    connection.executemany(SQL.dequeue, [(lane_id, head[1], head[0]) for head in heads])
    connection.execute(SQL.lane_shrank, (len(heads), lane_id))
    connection.execute(SQL.lane_served, (turn + share, lane_id))
    connection.execute(hosts.SQL.set_turn, (turn, gate.host_id))
    windows = gates.reserve(connection, gate, collector.now, len(heads), leases=len(heads))
    _lease_heads(connection, collector, run_id, heads, windows)
    return windows[-1]


def _lease_heads(
    connection: Connection,
    collector: LeaseCollector,
    run_id: int,
    heads: Sequence[tuple[Any, ...]],
    windows: Sequence[SendWindow],
    *,
    is_alone: bool = False,
) -> None:
    found = row(connection, SQL.next_tokens, (len(heads),))
    epoch = row(connection, SQL.epoch)
    assert found is not None and epoch is not None  # noqa: S101, PT018 - meta rows are part of the schema
    counter = found[0] - len(heads)
    deadline = collector.now + LEASE_S
    records = []
    for head, window in zip(heads, windows, strict=True):
        counter += 1
        url_id, _, host_id, attempts, returns, visit, *request = head
        ends_at = max(deadline, window.not_before + LEASE_S)
        records.append((url_id, counter, run_id, host_id, collector.worker_id, ends_at, is_alone))
        collector.leases.append(
            Lease(
                token=FencingToken(epoch[0], counter),
                url_id=url_id,
                run_id=run_id,
                request=request_of(*request),
                window=window.shifted(collector.clock_shift),
                deadline_at=ends_at,
                attempts=attempts,
                returns=returns,
                is_alone=is_alone,
                visit=visit,
                cookie_version=collector.cookie_versions.get(run_id, 0),
            )
        )
    connection.executemany(SQL.add_lease, records)


def give_back(connection: GateConnection, lease: tuple[int, int], now: float) -> None:
    """End a lease if it is still the current one (row and token), and queue its
    request again if it is open.
    """
    url_id, _ = lease
    for host_id, is_alone in rows(connection, SQL.drop_own_lease, lease):
        connection.execute(SQL.set_own_slot, (0.0, host_id, run_of(url_id)))
        found = row(connection, SQL.open_row, (url_id,))
        if found is not None and is_alone:
            connection.execute(SQL.put_later, (url_id, run_of(url_id), now, 1))
        elif found is not None:
            enqueue(connection, run_of(url_id), [QueueEntry(*found)])
        gates.reopen_lanes(connection, host_id, now)


class RunShare(msgspec.Struct):
    """A run that may get some of the slots."""

    run_id: int
    weight: int
    room: int
    """Number of further requests it may have in flight."""
    pace: OwnPace | None = None
    """The delays and holds of this run alone; None if it has none."""

    def delay_at(self, host_id: int) -> float:
        """Return the delay for this run alone; 0 if there is none."""
        return 0.0 if self.pace is None else self.pace.delay_at(str(host_id))

    def opens_at(self, host_id: int, sent_until: float) -> float:
        """Return when the run may send again after its last slot, by what applies to this run alone."""
        return 0.0 if self.pace is None else self.pace.opens_at(str(host_id), sent_until)


def share_out(
    connection: GateConnection, collector: LeaseCollector, shares: Sequence[RunShare], turns: WeightedTurns
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


def _lease(connection: GateConnection, collector: LeaseCollector, share: RunShare, count: int) -> int:
    got = 0
    if count > 0 and share.room > 0:
        got = take(connection, collector, share, min(count, share.room))
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
