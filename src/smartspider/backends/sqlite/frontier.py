"""The frontier on SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import apsw

from smartspider.backends.sqlite import gate as gates
from smartspider.backends.sqlite import queue
from smartspider.backends.sqlite.database import Database, row, rows
from smartspider.backends.sqlite.presence import FileLock, is_alive
from smartspider.core.lease import Lease, LeaseBatch, Window
from smartspider.core.runs import LEASES_IN

SQL = queue.SQL
WORKERS = "workers"


class SqliteFrontier:
    """See `interfaces/frontier.py`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._locks: dict[int, FileLock] = {}

    async def join(self, worker: str) -> int:
        """Register a worker and take the lock that says it lives."""

        def work(connection: apsw.Connection) -> int:
            ((worker_id,),) = rows(connection, SQL.add_worker, (worker, self._db.now()))
            lock = FileLock(self._lock_path(worker_id))
            lock.acquire()
            self._locks[worker_id] = lock
            return int(worker_id)

        return await self._db.write(work)

    async def leave(self, worker_id: int) -> None:
        """Release what the worker holds and forget it."""

        def work(connection: apsw.Connection) -> None:
            for url_id, token in rows(connection, SQL.leases_of_all, (worker_id,)):
                queue.give_back(connection, (url_id, token), self._db.now())
            connection.execute(SQL.remove_worker, (worker_id,))

        await self._db.write(work)
        if (lock := self._locks.pop(worker_id, None)) is not None:
            lock.release(remove=True)

    async def offer(self, run_id: int, url_ids: Sequence[int]) -> int:
        """Queue open rows of a run unless they are live."""
        return await self._db.write(lambda connection: queue.offer(connection, run_id, url_ids))

    async def lease(self, worker_id: int, want: int, runs: Sequence[int]) -> LeaseBatch:
        """Hand out what may leave now."""

        def work(connection: apsw.Connection) -> LeaseBatch:
            now = self._db.now()
            hand = queue.Hand(worker_id, want, now, self._db.clock_shift())
            if row(connection, SQL.holds_suspect, (worker_id,)):
                return LeaseBatch([], now)
            next_at = None
            for run_id in runs:
                if hand.free > 0 and not self._lease_run(connection, hand, run_id):
                    break
                next_at = _earlier(next_at, _next_at(connection, run_id, now))
            return LeaseBatch(hand.leases, now, next_at)

        return await self._db.write(work)

    def _lease_run(self, connection: apsw.Connection, hand: queue.Hand, run_id: int) -> bool:
        """Fill the hand from one run; False when a suspect wants the worker for itself."""
        found = row(connection, SQL.runnable, (run_id,))
        if found is None or found[0] not in LEASES_IN:
            return True
        _, concurrency, weight, in_flight = found
        connection.execute(SQL.asked, (hand.now, run_id))
        if queue.take_suspect(connection, hand, run_id, concurrency - in_flight):
            return False
        queue.wake(connection, run_id, hand.now)
        queue.take(connection, hand, run_id, concurrency - in_flight, weight)
        return True

    async def renew(self, leases: Sequence[Lease]) -> list[Lease]:
        """Move the deadlines of leases that are still held."""

        def work(connection: apsw.Connection) -> list[Lease]:
            until = self._db.now() + queue.LEASE_S
            keys = [(until, lease.url_id, lease.token.counter) for lease in leases]
            kept = {url_id for (url_id,) in connection.executemany(SQL.renew, keys)}
            return [lease for lease in leases if lease.url_id not in kept]

        return await self._db.write(work)

    async def release(self, leases: Sequence[Lease]) -> None:
        """Queue unused leases again."""

        def work(connection: apsw.Connection) -> None:
            for lease in leases:
                queue.give_back(connection, (lease.url_id, lease.token.counter), self._db.now())

        await self._db.write(work)

    async def reclaim(self) -> dict[str, int]:
        """Take back what dead or silent workers hold."""

        def work(connection: apsw.Connection) -> dict[str, int]:
            names = dict(rows(connection, SQL.workers))
            dead = [worker_id for worker_id in names if not self._lives(worker_id)]
            lost = rows(connection, SQL.lost_leases, (self._db.now(), json.dumps(dead)))
            returned: dict[str, int] = {}
            for url_id, token, run_id, worker_id, is_alone in lost:
                name = names.get(worker_id, f"worker {worker_id}")
                returned[name] = returned.get(name, 0) + 1
                self._return(connection, (url_id, token), run_id, is_alone=bool(is_alone))
            connection.executemany(SQL.remove_worker, [(worker_id,) for worker_id in dead])
            for worker_id in dead:
                self._lock_path(worker_id).unlink(missing_ok=True)
            return returned

        return await self._db.write(work)

    def _return(
        self, connection: apsw.Connection, lease: tuple[int, int], run_id: int, *, is_alone: bool
    ) -> None:
        """A lost lease goes back to the queue; one that keeps losing workers is set apart, then buried."""
        url_id, token = lease
        connection.execute("UPDATE run SET returns = returns + 1 WHERE id = ?", (run_id,))
        now = self._db.now()
        for host_id, _ in rows(connection, SQL.drop_own_lease, (url_id, token)):
            gates.reopen_lanes(connection, host_id, now)
        found = rows(connection, SQL.count_return, (url_id, is_alone))
        if not found or found[0][2] != "open":
            return
        returns, lone_returns, _, host_id, priority = found[0]
        if lone_returns >= queue.BURY_AFTER:
            connection.execute(
                "UPDATE url SET state = 'dead', reason = 'crash: every worker that took it alone was lost',"
                " closed_at = ? WHERE id = ?",
                (now, url_id),
            )
            connection.execute("UPDATE run SET dead = dead + 1 WHERE id = ?", (run_id,))
        elif returns >= queue.SUSPECT_AFTER:
            connection.execute(SQL.put_later, (url_id, run_id, now, 1))
        else:
            queue.enqueue(connection, run_id, [queue.Place(url_id, host_id, -priority)])

    async def permit(self, host: str) -> Window:
        """Reserve one more slot of a host."""

        def work(connection: apsw.Connection) -> Window:
            gate = gates.read_gate(connection, gates.find_host(connection, host))
            window = gates.reserve(connection, gate, self._db.now())
            if not window.is_free:
                gates.reopen_lanes(connection, gate.host_id, self._db.now())
            return window.shifted(self._db.clock_shift())

        return await self._db.write(work)

    async def hold_host(self, host: str, seconds: float, reason: str) -> None:
        """Send nothing to a host for so long."""

        def work(connection: apsw.Connection) -> None:
            host_id = gates.find_host(connection, host)
            now = self._db.now()
            connection.execute(gates.SQL.hold, (now + seconds, reason, host_id))
            gates.reopen_lanes(connection, host_id, now)

        await self._db.write(work)

    async def resume_host(self, host: str) -> None:
        """Lift a hold at once."""

        def work(connection: apsw.Connection) -> None:
            host_id = gates.find_host(connection, host)
            connection.execute(gates.SQL.resume, (host_id,))
            gates.reopen_lanes(connection, host_id, self._db.now())

        await self._db.write(work)

    def _lives(self, worker_id: int) -> bool:
        return worker_id in self._locks or is_alive(self._lock_path(worker_id))

    def _lock_path(self, worker_id: int) -> Path:
        return self._db.folder / WORKERS / f"{worker_id}.lock"


def _next_at(connection: apsw.Connection, run_id: int, now: float) -> float | None:
    wake = row(connection, SQL.next_wake, (run_id,))
    due = row(connection, SQL.next_due, (run_id, now))
    next_at = _earlier(wake[0] if wake else None, due[0] if due else None)
    for _, host_id in rows(connection, SQL.due_suspects, (run_id, now)):
        next_at = _earlier(next_at, gates.read_gate(connection, host_id).opens_at)
    return next_at


def _earlier(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
