"""Open rows, runs and hosts for a frontier outside the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from smartspider.backends.postgres import workers as presence
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.frontier_updates import SQL
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.updates import (
    HostRow,
    OpenRequest,
    QueuePosition,
    ReturnedLease,
    RunControl,
    RunLoad,
)
from smartspider.core.requests.politeness import OwnGate, OwnPace
from smartspider.core.runs.run import decode_capabilities, run_of
from smartspider.store import events as event_log
from smartspider.store.database import Connection, Row, rows
from smartspider.store.frontier_updates import BURY_AFTER, CRASHED, SUSPECT_AFTER
from smartspider.store.hosts import gates
from smartspider.store.hosts.gates import Operator
from smartspider.store.nodes import leadership
from smartspider.store.requests import request_of

_decode_gates = msgspec.json.Decoder(dict[str, OwnGate]).decode


class PostgresOpenRows:
    """See `interfaces/open_rows.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def requests(self, url_ids: Sequence[int]) -> dict[int, OpenRequest]:
        """Return the requests of those rows that are open, in one statement."""
        found = await self._fetch(SQL.requests, list(url_ids))
        return {
            url_id: OpenRequest(request_of(*request), attempts, returns, visit, cookie_version)
            for url_id, attempts, returns, visit, cookie_version, *request in found
        }

    async def places(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Return the queue positions of those rows that are open."""
        return _places(await self._fetch(SQL.places, list(url_ids)))

    async def open_children(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Return positions of the open rows found on closed ones."""
        return _places(await self._fetch(SQL.open_children, list(url_ids)))

    async def places_after(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[QueuePosition]:
        """Return positions of open rows of a run, by id."""
        return _places(await self._fetch(SQL.places_after, run_id, after, limit))

    async def heads(self, run_id: int, hosts: Sequence[str], limit: int) -> list[QueuePosition]:
        """Return the best open rows of a run for hosts, then as many of those that are due later."""
        return _places(await self._fetch(SQL.heads, run_id, list(hosts), self._db.now(), limit))

    async def lanes(self, run_id: int, *, after: str = "", limit: int = 1000) -> list[str]:
        """Return the hosts for which a run has open rows, in the order they were found."""
        return [host for (host,) in await self._fetch(SQL.lanes, run_id, after, limit)]

    async def controls(self) -> list[RunControl]:
        """Return the controls of all unfinished runs, oldest first."""
        found: list[Row] = [
            (*columns, decode_capabilities(needs), _own_pace(delay_s, own_gates))
            for *columns, needs, delay_s, own_gates in await self._fetch(SQL.controls)
        ]
        return [RunControl(*columns) for columns in found]

    async def hosts(self, *, after: str = "", limit: int = 1000) -> list[HostRow]:
        """Return gates that differ from the default, by name."""
        return [HostRow(*found) for found in await self._fetch(SQL.telling_hosts, after, limit)]

    async def hosts_changed(self, *, after: float = 0.0, limit: int = 1000) -> list[HostRow]:
        """Return gates changed in the last minute and after a moment, in that order."""
        return [HostRow(*found) for found in await self._fetch(SQL.changed_hosts, after, limit)]

    async def count_returns(
        self, returned: Sequence[ReturnedLease]
    ) -> tuple[list[QueuePosition], list[LeasesReturned]]:
        """Count leases that were taken back. Return the rows to queue again and the events."""
        if not returned:
            return [], []
        return await self._db.write_concurrently(
            lambda connection: _count_returns(connection, returned, self._db.now())
        )

    async def lost_workers(self) -> list[int]:
        """Return workers that left or were silent for `LOST_S`, until all their leases are found."""
        return await presence.lost(self._db)

    async def installation(self) -> str:
        """Return the id of the installation that owns the frontier of this store."""
        ((found,),) = await self._fetch(SQL.installation)
        return str(found)

    async def armed_process(self, shard: int) -> str:
        """Return the process last armed for a shard."""
        found = await self._fetch(SQL.armed_process, shard)
        return str(found[0][0]) if found else ""

    async def record_arming(self, shard: int, process: str, *, epoch: int) -> None:
        """Record the process that the leader is about to arm."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(SQL.arming, (shard, process))

        await self._db.write_concurrently(work)

    async def store_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        """Store what the frontier holds of runs that are still in the state in which they were counted."""
        columns = (
            [load.run_id for load in loads],
            [load.state for load in loads],
            [load.leased for load in loads],
            [load.queued for load in loads],
            [load.waiting for load in loads],
        )
        now = self._db.now()

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(SQL.keep_loads, (now, *columns))

        await self._db.write_concurrently(work)

    async def hold_host(
        self,
        host: str,
        seconds: float,
        reason: str,
        *,
        actor: str | None = None,
        owner: str | None = None,
    ) -> HostRow:
        """Send nothing to a host for some seconds. Return its new state."""
        return await self._act(actor, owner, lambda to, by: gates.hold(to, host, seconds, reason, by))

    async def resume_host(self, host: str, *, actor: str | None = None, owner: str | None = None) -> HostRow:
        """End a hold and reset the adaptive delay. Return the new state of the host."""
        return await self._act(actor, owner, lambda connection, by: gates.resume(connection, host, by))

    async def slow_host(
        self, host: str, delay_s: float, *, actor: str | None = None, owner: str | None = None
    ) -> HostRow:
        """Set the operator's delay. Return the new state of the host."""
        return await self._act(actor, owner, lambda connection, by: gates.slow(connection, host, delay_s, by))

    async def _act(
        self, actor: str | None, owner: str | None, act: Callable[[Connection, Operator], int]
    ) -> HostRow:
        def work(connection: Connection) -> HostRow:
            host_id = act(connection, Operator(self._db.now(), actor, owner))
            ((*found,),) = rows(connection, SQL.host_row, (host_id,))
            return HostRow(*found)

        return await self._db.write_concurrently(work)

    async def _fetch(self, sql: str, *values: Any) -> list[Row]:
        return await self._db.fetch(sql, values)


def _own_pace(delay_s: float, own_gates: str | None) -> OwnPace:
    return OwnPace(delay_s, {} if own_gates is None else _decode_gates(own_gates))


def _places(found: Sequence[Row]) -> list[QueuePosition]:
    return [
        QueuePosition(url_id, host, rank, due_at, returns >= SUSPECT_AFTER)
        for url_id, host, rank, due_at, returns in found
    ]


def _count_returns(
    connection: Connection, returned: Sequence[ReturnedLease], now: float
) -> tuple[list[QueuePosition], list[LeasesReturned]]:
    """Lock the runs, count the returns, and close rows that cost too many workers."""
    runs = sorted({run_of(one.url_id) for one in returned})
    locked = connection.execute(SQL.lock_runs, (runs,))
    workers = sorted({one.worker_id for one in returned})
    known = {worker_id: (name, bool(is_left)) for worker_id, name, is_left in _names(connection, workers)}
    living = {run_id for (run_id,) in locked.fetchall()}
    counted = [one for one in returned if one.counts and not known.get(one.worker_id, ("", False))[1]]
    marks = {one.url_id: one.is_alone for one in counted}
    found = rows(connection, SQL.count_returns, (list(marks), list(marks.values()))) if marks else []
    buried = [
        (url_id, run_id)
        for url_id, run_id, _, lone_returns, state in found
        if state == "open" and lone_returns >= BURY_AFTER
    ]
    if buried:
        connection.execute(SQL.bury, (CRASHED, now, [url_id for url_id, _ in buried]))
        for run_id, count in Counter(run_id for _, run_id in buried).items():
            connection.execute(SQL.buried, (count, run_id))
    events = _returned_events(returned, living, {worker_id: name for worker_id, (name, _) in known.items()})
    for run_id, count in _by_run(events).items():
        connection.execute(SQL.returned, (count, run_id))
    url_ids = [one.url_id for one in returned]
    places = _places(
        rows(connection, SQL.places, (url_ids,)) + rows(connection, SQL.open_children, (url_ids,))
    )
    for event in events:
        data = {"count": event.count, "worker": event.worker}
        event_log.write(connection, event.run_id, event.name, data, now)
    return places, events


def _names(connection: Connection, workers: list[int]) -> list[Row]:
    return rows(connection, SQL.names, (workers,))


def _returned_events(
    returned: Sequence[ReturnedLease], living: set[int], names: Mapping[int, str]
) -> list[LeasesReturned]:
    """Return how many leases of each run came back from each worker."""
    counts = Counter(
        (run_of(one.url_id), names.get(one.worker_id, f"worker {one.worker_id}"))
        for one in returned
        if run_of(one.url_id) in living
    )
    return [LeasesReturned(run_id, count, name) for (run_id, name), count in counts.items()]


def _by_run(events: Sequence[LeasesReturned]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for event in events:
        counts[event.run_id] += event.count
    return counts
