"""The frontier on SQLite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from smartspider.backends.sqlite import queue
from smartspider.backends.sqlite.database import SqliteDatabase
from smartspider.backends.sqlite.gates import gate as gates
from smartspider.backends.sqlite.gates.gate import GateConnection
from smartspider.backends.sqlite.queue import RunShare, share_out, take_ahead
from smartspider.backends.sqlite.worker_locks import FileLock, is_alive, worker_lock
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.lease import GateClosed, Lease, LeaseBatch, SendWindow, WeightedTurns
from smartspider.core.requests.politeness import LEASE_LEAD_S, OwnGate, OwnPace
from smartspider.core.runs.run import HTTP_ONLY, LEASES_IN, decode_capabilities
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store import events
from smartspider.store.database import Connection, row, rows
from smartspider.store.frontier_updates import BURY_AFTER, CRASHED, SUSPECT_AFTER, QueueEntry
from smartspider.store.hosts import gates as hosts
from smartspider.store.hosts.gates import Operator
from smartspider.store.nodes.workers import registration_values

SQL = queue.SQL

_decode_gates = msgspec.json.Decoder(dict[str, OwnGate]).decode


class SqliteFrontier:
    """See `interfaces/frontier.py`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database
        self._locks: dict[int, FileLock] = {}
        self._turns = WeightedTurns()

    async def join(self, worker: WorkerRegistration) -> int:
        """Register a worker and take the lock that shows it is alive."""

        def work(connection: GateConnection) -> int:
            ((worker_id,),) = rows(connection, SQL.add_worker, registration_values(worker, self._db.now()))
            lock = FileLock(worker_lock(self._db.folder, worker_id))
            lock.acquire()
            self._locks[worker_id] = lock
            return int(worker_id)

        return await self._db.write(work)

    async def leave(self, worker_id: int) -> None:
        """Release the leases of a worker and deregister it."""

        def work(connection: GateConnection) -> None:
            for url_id, token in rows(connection, SQL.leases_of_all, (worker_id,)):
                queue.give_back(connection, (url_id, token), self._db.now())
            connection.execute(SQL.remove_worker, (worker_id,))

        await self._db.write(work)
        if (lock := self._locks.pop(worker_id, None)) is not None:
            lock.release(remove=True)
        else:  # a supervisor deregisters a worker that it kills
            worker_lock(self._db.folder, worker_id).unlink(missing_ok=True)

    async def offer(self, run_id: int, url_ids: Sequence[int]) -> int:
        """Queue open rows of a run unless they are live."""
        return await self._db.write(lambda connection: queue.offer(connection, run_id, url_ids))

    async def lease(
        self,
        worker_id: int,
        want: int,
        runs: Sequence[int],
        own: bytes = b"",
        capabilities: frozenset[str] = HTTP_ONLY,
        *,
        ahead_s: float = 0.0,
    ) -> LeaseBatch:
        """Lease requests that may be sent now or within `ahead_s`. All workers are on one machine, so `own`
        does not matter.
        """
        del own

        def work(connection: GateConnection) -> LeaseBatch:
            now = self._db.now()
            collector = queue.LeaseCollector(worker_id, want, now, self._db.clock_shift())
            if row(connection, SQL.holds_suspect, (worker_id,)):
                return LeaseBatch([], now)
            shares, collector.cookie_versions = _shares(connection, runs, capabilities)
            run_ids = json.dumps([share.run_id for share in shares])
            connection.execute(SQL.asked, (now, run_ids))
            suspicious = {run_id for (run_id,) in rows(connection, SQL.with_suspects, (run_ids,))}
            for share in shares:
                if share.run_id in suspicious and queue.take_suspect(connection, collector, share):
                    return LeaseBatch(collector.leases, now)
            queue.wake(connection, run_ids, now)
            share_out(connection, collector, shares, self._turns)
            if ahead_s > 0.0:
                take_ahead(connection, collector, shares, ahead_s, self._turns)
            lead_s = min(ahead_s, LEASE_LEAD_S)
            suspects = [share for share in shares if share.run_id in suspicious]
            return LeaseBatch(collector.leases, now, _next_at(connection, run_ids, suspects, now, lead_s))

        return await self._db.write(work)

    async def renew(self, leases: Sequence[Lease]) -> list[Lease]:
        """Extend the leases that are still held."""

        def work(connection: GateConnection) -> list[Lease]:
            until = self._db.now() + queue.LEASE_S
            keys = [(until, lease.url_id, lease.token.counter) for lease in leases]
            kept = {url_id for (url_id,) in connection.executemany(SQL.renew, keys)}
            return [lease for lease in leases if lease.url_id not in kept]

        return await self._db.write(work)

    async def release(self, leases: Sequence[Lease]) -> None:
        """Queue unused leases again."""

        def work(connection: GateConnection) -> None:
            for lease in leases:
                queue.give_back(connection, (lease.url_id, lease.token.counter), self._db.now())

        await self._db.write(work)

    async def release_others(self, worker_id: int, url_id: int) -> None:
        """Queue the requests of a worker again, but for one."""

        def work(connection: GateConnection) -> None:
            for lease in rows(connection, SQL.leases_of_all, (worker_id,)):
                if lease[0] != url_id:
                    queue.give_back(connection, lease, self._db.now())

        await self._db.write(work)

    async def reclaim(self) -> list[LeasesReturned]:
        """Take leases back from dead and silent workers. Writes nothing if there are none."""
        if not await self._db.read(self._has_lost):
            return []

        def work(connection: GateConnection) -> list[LeasesReturned]:
            names: dict[int, str] = dict(rows(connection, SQL.workers))
            dead = [worker_id for worker_id in names if not self._lives(worker_id)]
            lost = rows(connection, SQL.lost_leases, (self._db.now(), json.dumps(dead)))
            returned: Counter[tuple[int, str]] = Counter()
            for url_id, token, run_id, worker_id, is_alone in lost:
                returned[run_id, names.get(worker_id, f"worker {worker_id}")] += 1
                self._return(connection, (url_id, token), run_id, is_alone=bool(is_alone))
            connection.executemany(SQL.remove_worker, [(worker_id,) for worker_id in dead])
            for worker_id in dead:
                worker_lock(self._db.folder, worker_id).unlink(missing_ok=True)
            events_ = [LeasesReturned(run_id, count, name) for (run_id, name), count in returned.items()]
            for event in events_:
                data = {"count": event.count, "worker": event.worker}
                events.write(connection, event.run_id, event.name, data, self._db.now())
            return events_

        return await self._db.write(work)

    def _has_lost(self, connection: Connection) -> bool:
        """Return whether a worker is dead or a lease is past its deadline."""
        if row(connection, SQL.has_late, (self._db.now(),)) is not None:
            return True
        return not all(self._lives(worker_id) for worker_id, _ in rows(connection, SQL.workers))

    def _return(
        self, connection: GateConnection, lease: tuple[int, int], run_id: int, *, is_alone: bool
    ) -> None:
        """Queue the request of a lost lease again; one that keeps losing workers is leased alone, then closed
        as dead.
        """
        url_id, token = lease
        connection.execute("UPDATE run SET returns = returns + 1 WHERE id = ?", (run_id,))
        now = self._db.now()
        for host_id, _ in rows(connection, SQL.drop_own_lease, (url_id, token)):
            gates.reopen_lanes(connection, host_id, now)
        found = rows(connection, SQL.count_return, (url_id, is_alone))
        if not found or found[0][2] != "open":
            return
        returns, lone_returns, _, host_id, priority = found[0]
        if lone_returns >= BURY_AFTER:
            connection.execute(
                "UPDATE url SET state = 'dead', reason = ?, closed_at = ? WHERE id = ?",
                (CRASHED, now, url_id),
            )
            connection.execute("UPDATE run SET dead = dead + 1 WHERE id = ?", (run_id,))
        elif returns >= SUSPECT_AFTER:
            connection.execute(SQL.put_later, (url_id, run_id, now, 1))
        else:
            queue.enqueue(connection, run_id, [QueueEntry(url_id, host_id, -priority)])

    async def permit(self, host: str) -> SendWindow | GateClosed:
        """Reserve one more slot of a host, if it is near."""

        def work(connection: GateConnection) -> SendWindow | GateClosed:
            gate = gates.claim(connection, hosts.find_host(connection, host))
            return gates.permit(connection, gate, self._db.now()).shifted(self._db.clock_shift())

        return await self._db.write(work)

    async def hold_host(
        self,
        host: str,
        seconds: float,
        reason: str,
        *,
        actor: str | None = None,
        owner: str | None = None,
    ) -> None:
        """Send nothing to a host for some seconds."""
        await self._act(
            actor, owner, lambda connection, by: hosts.hold(connection, host, seconds, reason, by)
        )

    async def resume_host(self, host: str, *, actor: str | None = None, owner: str | None = None) -> None:
        """End a hold at once."""

        def act(connection: GateConnection, by: Operator) -> int:
            if owner is None:
                connection.gates.resume(host)
            return hosts.resume(connection, host, by)

        await self._act(actor, owner, act)

    async def slow_host(
        self, host: str, delay_s: float, *, actor: str | None = None, owner: str | None = None
    ) -> None:
        """Set the operator's delay of a host."""
        await self._act(actor, owner, lambda connection, by: hosts.slow(connection, host, delay_s, by))

    async def _act(
        self, actor: str | None, owner: str | None, act: Callable[[GateConnection, Operator], int]
    ) -> None:
        def work(connection: GateConnection) -> None:
            by = Operator(self._db.now(), actor, owner)
            gates.reopen_lanes(connection, act(connection, by), by.now)

        await self._db.write(work)

    def _lives(self, worker_id: int) -> bool:
        return worker_id in self._locks or is_alive(worker_lock(self._db.folder, worker_id))


def _shares(
    connection: Connection, runs: Sequence[int], capabilities: frozenset[str]
) -> tuple[list[RunShare], dict[int, int]]:
    """Return those of the runs that lease, and the versions of their cookies, as far as they have any."""
    found = rows(connection, SQL.runnable, (json.dumps(list(runs)),))
    shares = [
        RunShare(run_id, weight, room, _own_pace(*own))
        for run_id, state, needs, _, weight, room, *own in found
        if state in LEASES_IN and decode_capabilities(needs) <= capabilities
    ]
    return shares, {run_id: version for run_id, _, _, version, *_ in found if version}


def _own_pace(delay_s: float, own_gates: str | None) -> OwnPace | None:
    if not delay_s and own_gates is None:
        return None
    return OwnPace(delay_s, {} if own_gates is None else _decode_gates(own_gates))


def _next_at(
    connection: GateConnection, runs: str, suspicious: Iterable[RunShare], now: float, lead_s: float
) -> float | None:
    """Return when to ask for requests of the runs (a JSON list) again: `lead_s` before the next window."""
    next_at = _next_wake(connection, runs, now)
    if next_at is not None and next_at > now + lead_s:
        next_at -= lead_s
    elif next_at is not None:  # a lane that opens so soon could not be leased ahead; the others can
        wake_at = _next_wake(connection, runs, now + lead_s)
        next_at = _earlier(next_at, None if wake_at is None else wake_at - lead_s)
    due = row(connection, SQL.next_due, (runs, now))
    next_at = _earlier(next_at, due[0] if due else None)
    for share in suspicious:
        for _, host_id in rows(connection, SQL.due_suspects, (share.run_id, now)):
            opens_at = gates.read(connection, host_id).opens_at
            next_at = _earlier(next_at, max(opens_at, queue.own_opens_at(connection, share, host_id)))
    return next_at


def _next_wake(connection: Connection, runs: str, after: float) -> float | None:
    found = row(connection, SQL.next_wake, (runs, after))
    return found[0] if found else None


def _earlier(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


class SqlitePermits:
    """Reserves slots at the gates that all runs share."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def reserve(self, host: str, delay_s: float) -> SendWindow | GateClosed:
        """Reserve the next slot of a host, with at least this delay, also for a host without a run."""

        def work(connection: GateConnection) -> SendWindow | GateClosed:
            host_id, now = hosts.find_host(connection, host), self._db.now()
            return gates.single_permit(connection, host_id, delay_s, now).shifted(self._db.clock_shift())

        return await self._db.write(work)


class SqliteReplay:
    """See `interfaces/frontier.py`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._db = database

    async def is_whole(self, run_id: int) -> bool:
        """Return whether as many requests are queued, waiting or leased as rows are open."""

        def work(connection: GateConnection) -> bool:
            is_open = row(connection, SQL.open_count, (run_id,))
            return is_open is None or row(connection, SQL.live_count, (run_id,)) == is_open

        return await self._db.read(work)

    async def open_rows(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[int]:
        """Return ids of open rows of a run that are greater than `after`."""
        return await self._db.read(
            lambda connection: [
                url_id for (url_id,) in rows(connection, SQL.open_rows, (run_id, after, limit))
            ]
        )
