"""Open rows, runs and hosts as a frontier apart from the store asks for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from smartspider.backends.postgres import workers as presence
from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.frontier_updates import SQL
from smartspider.core.capabilities import decode_capabilities
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.updates import (
    HostRow,
    OpenRequest,
    QueuePosition,
    ReturnedLease,
    RunControl,
    RunLoad,
)
from smartspider.core.runs.run import run_of
from smartspider.store import events
from smartspider.store.database import Connection, Row, rows
from smartspider.store.frontier_updates import BURY_AFTER, CRASHED, SUSPECT_AFTER
from smartspider.store.hosts import actions
from smartspider.store.hosts.actions import Operator
from smartspider.store.nodes import leadership
from smartspider.store.requests import request_of


class PostgresOpenRows:
    """See `interfaces/open_rows.py` and `interfaces/open_rows.py`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._db = database

    async def requests(self, url_ids: Sequence[int]) -> dict[int, OpenRequest]:
        """Those of the rows that are open, in one statement."""
        found = await self._ask(SQL.requests, list(url_ids))
        return {
            url_id: OpenRequest(request_of(*request), attempts, returns, visit)
            for url_id, attempts, returns, visit, *request in found
        }

    async def places(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Where those of the rows that are open belong."""
        return _places(await self._ask(SQL.places, list(url_ids)))

    async def open_children(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Places of the open rows that closed ones led to."""
        return _places(await self._ask(SQL.open_children, list(url_ids)))

    async def places_after(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[QueuePosition]:
        """Places of open rows of a run, by id."""
        return _places(await self._ask(SQL.places_after, run_id, after, limit))

    async def heads(self, run_id: int, hosts: Sequence[str], limit: int) -> list[QueuePosition]:
        """The best open rows of a run for hosts, then as many of those that come back later."""
        return _places(await self._ask(SQL.heads, run_id, list(hosts), self._db.now(), limit))

    async def lanes(self, run_id: int, *, after: str = "", limit: int = 1000) -> list[str]:
        """Hosts that a run has open rows for, those found first."""
        return [host for (host,) in await self._ask(SQL.lanes, run_id, after, limit)]

    async def controls(self) -> list[RunControl]:
        """All runs that are not over, oldest first."""
        return [
            RunControl(*found, needs=decode_capabilities(needs))
            for *found, needs in await self._ask(SQL.controls)
        ]

    async def hosts(self, *, after: str = "", limit: int = 1000) -> list[HostRow]:
        """Gates of hosts with anything to say, by name."""
        return [HostRow(*found) for found in await self._ask(SQL.telling_hosts, after, limit)]

    async def hosts_changed(self, *, after: float = 0.0, limit: int = 1000) -> list[HostRow]:
        """Gates that changed in the last minute and after a moment, in that order."""
        return [HostRow(*found) for found in await self._ask(SQL.changed_hosts, after, limit)]

    async def count_returns(
        self, returned: Sequence[ReturnedLease]
    ) -> tuple[list[QueuePosition], list[LeasesReturned]]:
        """Count leases that were taken back; what is queued again, and what is told."""
        if not returned:
            return [], []
        return await self._db.write_concurrently(
            lambda connection: _count_returns(connection, returned, self._db.now())
        )

    async def lost_workers(self) -> list[int]:
        """Workers that left, or were not seen for `LOST_S`; told until all of theirs is found."""
        return await presence.lost(self._db)

    async def installation(self) -> str:
        """Whose a frontier is that goes with this store."""
        ((found,),) = await self._ask(SQL.installation)
        return str(found)

    async def armed_process(self, shard: int) -> str:
        """The process that a leader armed last for a shard."""
        found = await self._ask(SQL.armed_process, shard)
        return str(found[0][0]) if found else ""

    async def arming(self, shard: int, process: str, *, epoch: int) -> None:
        """Note that a leader is about to arm a process."""

        def work(connection: Connection) -> None:
            leadership.check(connection, epoch)
            connection.execute(SQL.arming, (shard, process))

        await self._db.write_concurrently(work)

    async def keep_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        """Keep what the frontier holds of runs that are still in the state they were counted in."""
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

    async def hold_host(self, host: str, seconds: float, reason: str, *, actor: str | None = None) -> HostRow:
        """Send nothing to a host for so long; the host as it stands now."""
        return await self._act(
            actor, lambda connection, by: actions.hold(connection, host, seconds, reason, by)
        )

    async def resume_host(self, host: str, *, actor: str | None = None) -> HostRow:
        """Lift a hold, and forget what made the host slow; the host as it stands now."""
        return await self._act(actor, lambda connection, by: actions.resume(connection, host, by))

    async def slow_host(self, host: str, delay_s: float, *, actor: str | None = None) -> HostRow:
        """Have the slots of a host at least so far apart; the host as it stands now."""
        return await self._act(actor, lambda connection, by: actions.slow(connection, host, delay_s, by))

    async def _act(self, actor: str | None, act: Callable[[Connection, Operator], int]) -> HostRow:
        def work(connection: Connection) -> HostRow:
            host_id = act(connection, Operator(self._db.now(), actor))
            ((*found,),) = rows(connection, SQL.host_row, (host_id,))
            return HostRow(*found)

        return await self._db.write_concurrently(work)

    async def _ask(self, sql: str, *values: Any) -> list[Row]:
        return await self._db.fetch(sql, values)


def _places(found: Sequence[Row]) -> list[QueuePosition]:
    return [
        QueuePosition(url_id, host, rank, due_at, returns >= SUSPECT_AFTER)
        for url_id, host, rank, due_at, returns in found
    ]


def _count_returns(
    connection: Connection, returned: Sequence[ReturnedLease], now: float
) -> tuple[list[QueuePosition], list[LeasesReturned]]:
    """Lock the runs, count what says something about its request, bury what cost too many workers."""
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
    told = _told(returned, living, {worker_id: name for worker_id, (name, _) in known.items()})
    for run_id, count in _by_run(told).items():
        connection.execute(SQL.returned, (count, run_id))
    asked = [one.url_id for one in returned]
    places = _places(rows(connection, SQL.places, (asked,)) + rows(connection, SQL.open_children, (asked,)))
    for event in told:
        data = {"count": event.count, "worker": event.worker}
        events.write(connection, event.run_id, event.name, data, now)
    return places, told


def _names(connection: Connection, workers: list[int]) -> list[Row]:
    return rows(connection, SQL.names, (workers,))


def _told(
    returned: Sequence[ReturnedLease], living: set[int], names: Mapping[int, str]
) -> list[LeasesReturned]:
    """What is told: how many leases of each run came back from whom."""
    counts = Counter(
        (run_of(one.url_id), names.get(one.worker_id, f"worker {one.worker_id}"))
        for one in returned
        if run_of(one.url_id) in living
    )
    return [LeasesReturned(run_id, count, name) for (run_id, name), count in counts.items()]


def _by_run(told: Sequence[LeasesReturned]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for event in told:
        counts[event.run_id] += event.count
    return counts
