"""What can be asked about runs and requests, on SQLite: short reads of a bounded number of rows."""

from __future__ import annotations

import msgspec

from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.store.diagnostics import progress, requests
from smartspider.store.diagnostics.progress import RunProgress
from smartspider.store.diagnostics.requests import GateStatus, HeldRequest, RequestDetails
from smartspider.store.runs import records

SQL = statements.load("diagnostics.sql", __package__)

OLDEST = 5
FAILING = 5


class WorkerShare(msgspec.Struct, frozen=True):
    """What a worker holds of a run."""

    worker: str
    node: str
    in_flight: int


class FailingHost(msgspec.Struct, frozen=True):
    """A host that requests wait to be sent to again, and what went wrong the last time."""

    host: str
    reason: str


class RunActivity(msgspec.Struct, frozen=True):
    """Everything that decides whether a run moves."""

    standing: RunProgress
    gates: list[GateStatus]
    waiting: int
    """Requests that come back later; no more than a thousand are counted."""
    next_due_at: float | None
    oldest: list[HeldRequest]
    """What was handed out first."""
    shares: list[WorkerShare]
    failing: list[FailingHost] = []
    """Where what comes back first goes to; a few hosts, each once."""


class Diagnostics:
    """1. Nothing is ever changed by asking.
    2. An answer is of one moment.
    3. What is looked at is found by keys and bounded, however much is stored: long lists are cut and say so.
    4. A request is found by its fingerprint; those with a method, a body, headers or meta of their own by
       their URL as well.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def progress(self, run_id: int) -> RunProgress:
        """How a run stands; cheap enough to be asked all the time."""
        return await self._db.read(
            lambda connection: progress.read_progress(connection, run_id, self._db.now())
        )

    async def activity(self, run_id: int, limit: int = 20) -> RunActivity:
        """What keeps a run moving or not, with so many gates."""

        def work(connection: Connection) -> RunActivity:
            now = self._db.now()
            lanes = progress.lanes_of(connection, run_id, now)
            held: dict[int, int] = dict(rows(connection, SQL.leased_hosts, (run_id,)))
            later = [host_id for (host_id,) in rows(connection, SQL.later_hosts, (run_id, now))]
            longest = sorted(lanes, key=lanes.__getitem__, reverse=True)
            hosts = list(dict.fromkeys([*longest, *held, *later]))
            found = row(connection, SQL.waiting, (run_id, now))
            due = row(connection, SQL.next_due, (run_id, now))
            return RunActivity(
                standing=progress.read_progress(connection, run_id, now),
                gates=[
                    requests.gate_status(connection, host_id, (lanes.get(host_id, 0), held.get(host_id, 0)))
                    for host_id in hosts[:limit]
                ],
                waiting=found[0] if found else 0,
                next_due_at=due[0] if due else None,
                oldest=[
                    requests.held_request(connection, *lease)
                    for lease in rows(connection, SQL.leases, (run_id, OLDEST))
                ],
                shares=_shares(connection, run_id),
                failing=_failing(connection, run_id, now),
            )

        return await self._db.read(work)

    async def requests(
        self, run_id: int, fingerprint: bytes, url: str, limit: int = 10
    ) -> list[RequestDetails]:
        """The requests of a run with a fingerprint or for a normal URL, the newest visit of each first."""

        def work(connection: Connection) -> list[RequestDetails]:
            now = self._db.now()
            others = [other for (other,) in rows(connection, SQL.prints_of_url, (run_id, url, limit))]
            prints = dict.fromkeys([fingerprint, *others])
            found = [record for one in prints for record in records.find_urls(connection, one, [run_id], now)]
            return [requests.read_details(connection, record, now) for record in found[:limit]]

        return await self._db.read(work)

    async def has_visited(self, run_id: int, host: str) -> bool:
        """Whether a run has fetched something from a host."""
        return await self._db.read(
            lambda connection: row(connection, SQL.has_visited, (host, run_id)) is not None
        )


def _failing(connection: Connection, run_id: int, now: float) -> list[FailingHost]:
    reasons: dict[str, str] = {}
    for host, reason in rows(connection, SQL.failing, (run_id, now)):
        reasons[host] = reasons.get(host) or reason or ""
    return [FailingHost(host, reason) for host, reason in list(reasons.items())[:FAILING]]


def _shares(connection: Connection, run_id: int) -> list[WorkerShare]:
    shares = []
    for worker_id, held in rows(connection, SQL.shares, (run_id,)):
        name, node = row(connection, SQL.worker, (worker_id,)) or (f"worker {worker_id}, which is gone", "")
        shares.append(WorkerShare(name, node, held))
    return shares
