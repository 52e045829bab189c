"""Diagnostics of runs and requests: short reads of a bounded number of rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from smartspider.core.frontier.cause import ProblemKind
from smartspider.store import statements
from smartspider.store.database import Connection, Database, row, rows
from smartspider.store.diagnostics import left_out, problems, progress, requests
from smartspider.store.diagnostics.left_out import LeftOutRecord, LeftOutReport
from smartspider.store.diagnostics.problems import ProblemExample, ProblemGroup
from smartspider.store.diagnostics.progress import RunProgress
from smartspider.store.diagnostics.requests import GateStatus, HeldRequest, PageRecord, RequestDetails
from smartspider.store.runs import records
from smartspider.store.runs.records import StoredChange

SQL = statements.load("diagnostics.sql", __package__)

OLDEST = 5
FAILING = 5


class WorkerInFlight(msgspec.Struct, frozen=True):
    """Leases of a run held by a worker."""

    worker: str
    node: str
    in_flight: int


class FailingHost(msgspec.Struct, frozen=True):
    """A host with requests to retry, and the reason of the last failure."""

    host: str
    reason: str


class RunActivity(msgspec.Struct, frozen=True):
    """The state that decides whether a run makes progress."""

    progress: RunProgress
    gates: list[GateStatus]
    waiting: int
    """Requests to retry later; at most a thousand are counted."""
    next_due_at: float | None
    oldest: list[HeldRequest]
    """The oldest leases."""
    shares: list[WorkerInFlight]
    failing: list[FailingHost] = []
    """The hosts of the requests retried first; a few, each once."""


class Diagnostics:
    """1. Reading changes nothing.
    2. A result is of one snapshot.
    3. Rows are found by indexes and bounded, however much is stored: long lists are cut and say so.
    4. A request is found by its fingerprint; one with its own method, body, headers or meta also by its
       URL. So is a link that was left out.
    5. Problems are groups of failed, lost and skipped requests and of rejected items, by cause and host, the
       most harmful first.
    6. A request is shown with what its page brought and led to.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def progress(self, run_id: int) -> RunProgress:
        """Return the progress of a run. Cheap enough for polling."""
        return await self._db.read(
            lambda connection: progress.read_progress(connection, run_id, self._db.now())
        )

    async def progress_of(self, run_ids: Sequence[int]) -> dict[int, RunProgress]:
        """Return the progress of several runs, by run."""
        return await self._db.read(
            lambda connection: {
                run_id: progress.read_progress(connection, run_id, self._db.now()) for run_id in run_ids
            }
        )

    async def activity(self, run_id: int, limit: int = 20) -> RunActivity:
        """Return what lets a run make progress or prevents it, with up to `limit` gates."""

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
                progress=progress.read_progress(connection, run_id, now),
                gates=[
                    requests.gate_status(
                        *(connection, run_id, host_id), (lanes.get(host_id, 0), held.get(host_id, 0))
                    )
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
        self, run_id: int, fingerprints: Sequence[bytes], url: str, limit: int = 10
    ) -> list[RequestDetails]:
        """Return the requests of a run with one of the fingerprints or a normalised URL, the newest visit of
        each first.
        """

        def work(connection: Connection) -> list[RequestDetails]:
            now = self._db.now()
            others = [other for (other,) in rows(connection, SQL.prints_of_url, (run_id, url, limit))]
            prints = dict.fromkeys([*fingerprints, *others])
            found = [record for one in prints for record in records.find_urls(connection, one, [run_id], now)]
            return [requests.read_details(connection, record, now) for record in found[:limit]]

        return await self._db.read(work)

    async def page(self, run_id: int, url_id: int, limit: int = 50) -> PageRecord | None:
        """Return a request of a run with up to `limit` of each thing it brought; None if there is none."""
        return await self._db.read(
            lambda connection: requests.read_page(connection, run_id, url_id, self._db.now(), limit)
        )

    async def changes(self, url_id: int, *, after: int = 0, limit: int = 100) -> list[StoredChange]:
        """Return values of a page that steps changed, with ids greater than `after`, in commit order."""
        return await self._db.read(
            lambda connection: requests.read_changes(
                connection, url_id, self._db.now(), after=after, limit=limit
            )
        )

    async def left_out(self, run_id: int) -> LeftOutReport:
        """Return what a run left out, by reason, with examples."""
        return await self._db.read(lambda connection: left_out.read_report(connection, run_id))

    async def find_left_out(self, run_id: int, fingerprint: bytes, url: str) -> LeftOutRecord | None:
        """Return a link that a run saw and refused, by the fingerprint of its request or by its URL."""
        return await self._db.read(
            lambda connection: left_out.find_left_out(connection, run_id, fingerprint, url)
        )

    async def problems(
        self, run_id: int, kinds: Collection[ProblemKind], *, after: int = 0, limit: int = 100
    ) -> list[tuple[ProblemGroup, ProblemExample]]:
        """Return what went wrong in a run, by cause and host, the most harmful first: groups from a place on,
        with an example each.
        """

        def work(connection: Connection) -> list[tuple[ProblemGroup, ProblemExample]]:
            groups = problems.read_problems(connection, run_id, kinds)[after : after + limit]
            return list(zip(groups, problems.read_examples(connection, groups), strict=True))

        return await self._db.read(work)

    async def has_visited(self, run_id: int, host: str) -> bool:
        """Return whether a run has fetched anything from a host."""
        return await self._db.read(
            lambda connection: row(connection, SQL.has_visited, (host, run_id)) is not None
        )


def _failing(connection: Connection, run_id: int, now: float) -> list[FailingHost]:
    reasons: dict[str, str] = {}
    for host, reason in rows(connection, SQL.failing, (run_id, now)):
        reasons[host] = reasons.get(host) or reason or ""
    return [FailingHost(host, reason) for host, reason in list(reasons.items())[:FAILING]]


def _shares(connection: Connection, run_id: int) -> list[WorkerInFlight]:
    shares = []
    for worker_id, held in rows(connection, SQL.shares, (run_id,)):
        name, node = row(connection, SQL.worker, (worker_id,)) or (f"worker {worker_id}, which is gone", "")
        shares.append(WorkerInFlight(name, node, held))
    return shares
