"""Counters and gauges over all workers, for monitoring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows

SQL = statements.load("metrics.sql", __package__)

MAX_KEYS = 2_000
COUNTED = 10_000
"""Upper bound of a gauge."""

LIVE_STATES = ("queued", "running", "stopping")

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, str]).decode


MetricKey = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name, and its labels by name."""


class MetricStore:
    """1. Added values are summed, also when several processes add at once.
    2. There are at most `max_keys` different keys; further ones are dropped.
    """

    def __init__(self, database: Database, *, max_keys: int = MAX_KEYS) -> None:
        self._db, self._max_keys = database, max_keys

    async def add(self, deltas: Mapping[MetricKey, float]) -> None:
        """Add to counters."""
        added = _encoded(deltas)
        if added and not await self._db.write_concurrently(lambda connection: _add_known(connection, added)):
            await self._db.write(lambda connection: _add(connection, added, self._max_keys))

    async def sums(self) -> dict[MetricKey, float]:
        """Return all counters."""
        found = await self._db.read(lambda connection: rows(connection, SQL.sums))
        return {(name, _labels(labels)): value for name, labels, value in found}

    async def gauges(self) -> dict[MetricKey, float]:
        """Return the gauges: open requests by state of run, leases, held hosts, workers."""
        return await self._db.read(lambda connection: _gauges(connection, self._db.now()))


LEFT_OUT = "smartspider_left_out_total"


def left_out_key(code: str) -> MetricKey:
    """Return the key of the counter of what was left out for a reason."""
    return LEFT_OUT, (("reason", code),)


def add(connection: Connection, deltas: Mapping[MetricKey, float]) -> None:
    """Add to counters inside a transaction."""
    _add(connection, _encoded(deltas), MAX_KEYS)


def _add_known(connection: Connection, added: dict[tuple[str, str], float]) -> bool:
    """Add to counters if all of them exist."""
    if len(_known(connection, added)) < len(added):
        return False
    connection.executemany(SQL.add, [(*key, delta) for key, delta in added.items()])
    return True


def _add(connection: Connection, added: dict[tuple[str, str], float], max_keys: int) -> None:
    known = _known(connection, added)
    room = max_keys - _one(connection, SQL.count)[0]
    kept = known | set([key for key in added if key not in known][:room])
    connection.executemany(SQL.add, [(*key, delta) for key, delta in added.items() if key in kept])


def _known(connection: Connection, added: dict[tuple[str, str], float]) -> set[tuple[str, str]]:
    return {(name, labels) for name, labels in connection.executemany(SQL.is_known, added)}


def _encoded(deltas: Mapping[MetricKey, float]) -> dict[tuple[str, str], float]:
    """Return the deltas by encoded key, in an order that is the same in all processes."""
    added: dict[tuple[str, str], float] = {}
    for (name, labels), delta in deltas.items():
        key = (name, _encode(dict(labels)).decode())
        added[key] = added.get(key, 0.0) + delta
    return dict(sorted(added.items()))


def _labels(labels: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(_decode(labels).items()))


def _gauges(connection: Connection, now: float) -> dict[MetricKey, float]:
    gauges: dict[MetricKey, float] = {}
    live = {state: (count, still) for state, count, still in rows(connection, SQL.live_runs, (COUNTED,))}
    for state in LIVE_STATES:
        count, still = live.get(state, (0, 0))
        gauges["smartspider_runs", (("state", state),)] = count
        gauges["smartspider_requests_open", (("run_state", state),)] = still
    workers, slots = _one(connection, SQL.workers)
    plain = {
        "smartspider_leases": _one(connection, SQL.leases)[0],
        "smartspider_hosts_held": _one(connection, SQL.held, (now, COUNTED))[0],
        "smartspider_workers": workers,
        "smartspider_workers_desired": _one(connection, SQL.desired, (workers,))[0],
        "smartspider_worker_slots": slots,
        "smartspider_log_bytes": _one(connection, SQL.log_bytes)[0],
        "smartspider_store_bytes": _one(connection, SQL.store_bytes)[0],
    }
    return gauges | {(name, ()): float(value) for name, value in plain.items()}


def _one(connection: Connection, sql: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    found = row(connection, sql, values)
    return found if found is not None else (0, 0)
