"""A store in memory: open rows, workers and holds as a frontier apart from it needs them, nothing more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.updates import (
    HostRow,
    OpenRequest,
    QueuePosition,
    ReturnedLease,
    RunControl,
    RunLoad,
)
from smartspider.core.frontier.verdict import UrlState
from smartspider.core.requests.domains import registrable_domain
from smartspider.core.requests.politeness import increased_delay_s
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import FINISHED, RunState, first_id, run_of
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.frontier_updates import CRASHED

SUSPECT_AFTER = BURY_AFTER = 3


class Row(msgspec.Struct):
    """A url row."""

    id: int
    request: Request
    state: UrlState = "open"
    reason: str = ""
    attempts: int = 0
    returns: int = 0
    lone_returns: int = 0
    due_at: float = 0.0

    @property
    def place(self) -> QueuePosition:
        """Where it belongs."""
        is_alone = self.returns >= SUSPECT_AFTER
        return QueuePosition(self.id, self.request.host, -self.request.priority, self.due_at, is_alone)


class MemoryRows:
    """See `interfaces/open_rows.py`."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.rows: dict[int, Row] = {}
        self.known: dict[tuple[int, bytes], int] = {}
        self.runs: dict[int, RunControl] = {}
        self.gates: dict[str, HostRow] = {}
        self.reasons: dict[str, str] = {}
        self.workers: dict[int, str] = {}
        self.dead: set[int] = set()
        self.armed: dict[int, str] = {}
        self.returns: Counter[int] = Counter()
        self.told: list[LeasesReturned] = []
        self.is_down = False
        self.parents: dict[int, int] = {}

    def add_run(self, requests: Sequence[Request], state: RunState = "running", **knobs: float | None) -> int:
        """A run with its first rows."""
        run_id = len(self.runs) + 1
        values = {"weight": 1, "concurrency": 64, "delay_s": 0.0, "per_host": 64, "per_domain": None}
        self.runs[run_id] = RunControl(run_id=run_id, state=state, **(values | knobs))  # type: ignore[arg-type] # knobs by name
        for request in requests:
            self.add(run_id, request)
        return run_id

    def add(self, run_id: int, request: Request) -> int | None:
        """A row for a request that is new to the run."""
        if (run_id, request.fingerprint) in self.known:
            return None
        url_id = first_id(run_id) + sum(run == run_id for run, _ in self.known) + 1
        self.known[run_id, request.fingerprint] = url_id
        self.rows[url_id] = Row(url_id, request)
        return url_id

    def change(self, run_id: int, **knobs: object) -> None:
        """State or knobs of a run."""
        self.runs[run_id] = msgspec.structs.replace(self.runs[run_id], **knobs)

    def open_rows(self, run_id: int) -> list[Row]:
        """Rows of a run that are to be fetched."""
        return [row for row in self.rows.values() if run_of(row.id) == run_id and row.state == "open"]

    async def requests(self, url_ids: Sequence[int]) -> dict[int, OpenRequest]:
        """Open rows of runs that are not over."""
        if self.is_down:
            raise ConnectionError("the store is down")
        return {
            url_id: OpenRequest(row.request, row.attempts, row.returns)
            for url_id in url_ids
            if (row := self.rows.get(url_id)) and self._is_open(row)
        }

    async def places(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Where open rows belong."""
        return [self.rows[one].place for one in url_ids if one in self.rows and self._is_open(self.rows[one])]

    async def open_children(self, url_ids: Sequence[int]) -> list[QueuePosition]:
        """Open rows that closed ones led to."""
        closed = {url_id for url_id in url_ids if self.rows[url_id].state != "open"}
        children = [child for child, parent in self.parents.items() if parent in closed]
        return await self.places(children)

    async def places_after(self, run_id: int, *, after: int = 0, limit: int = 500) -> list[QueuePosition]:
        """Open rows by id."""
        return [row.place for row in self.open_rows(run_id) if row.id > after][:limit]

    async def heads(self, run_id: int, hosts: Sequence[str], limit: int) -> list[QueuePosition]:
        """The best of lanes."""
        found = []
        for host in hosts:
            places = [row.place for row in self.open_rows(run_id) if row.request.host == host]
            found += sorted(places, key=lambda place: (place.rank, place.url_id))[:limit]
        return found

    async def lanes(self, run_id: int, *, after: str = "", limit: int = 1000) -> list[str]:
        """Hosts with open rows."""
        hosts = sorted({row.request.host for row in self.open_rows(run_id)})
        return [host for host in hosts if host > after][:limit]

    async def controls(self) -> list[RunControl]:
        """Runs that are not over."""
        return [run for run in self.runs.values() if run.state not in FINISHED]

    async def hosts(self, *, after: str = "", limit: int = 1000) -> list[HostRow]:
        """Gates with anything to say."""
        return [self.gates[name] for name in sorted(self.gates) if name > after][:limit]

    async def hosts_changed(self, *, after: float = 0.0, limit: int = 1000) -> list[HostRow]:
        """Gates that changed."""
        found = sorted(self.gates.values(), key=lambda gate: gate.changed_at)
        return [gate for gate in found if gate.changed_at > after][:limit]

    async def count_returns(
        self, returned: Sequence[ReturnedLease]
    ) -> tuple[list[QueuePosition], list[LeasesReturned]]:
        """Count what came back."""
        places = []
        counts: Counter[tuple[int, str]] = Counter()
        for lost in returned:
            row = self.rows[lost.url_id]
            counts[run_of(row.id), self.workers[lost.worker_id]] += 1
            self.returns[run_of(row.id)] += 1
            row.returns += lost.counts
            row.lone_returns += lost.counts and lost.is_alone
            if row.lone_returns >= BURY_AFTER and row.state == "open":
                row.state, row.reason = "dead", CRASHED
            if self._is_open(row):
                places.append(row.place)
        told = [LeasesReturned(run_id, count, name) for (run_id, name), count in counts.items()]
        self.told += told
        return places, told

    async def armed_process(self, shard: int) -> str:
        """As it was noted."""
        return self.armed.get(shard, "")

    async def record_arming(self, shard: int, process: str, *, epoch: int) -> None:
        """Noted."""
        self.armed[shard] = process

    async def store_loads(self, loads: Sequence[RunLoad], *, epoch: int) -> None:
        """Nobody looks at them here."""

    async def lost_workers(self) -> list[int]:
        """Who died."""
        return sorted(self.dead)

    async def join(self, card: WorkerRegistration) -> int:
        """The next id."""
        self.workers[len(self.workers) + 1] = card.name
        return len(self.workers)

    async def leave(self, worker_id: int) -> None:
        """It is gone."""
        self.dead.discard(worker_id)

    async def hold_host(
        self,
        host: str,
        seconds: float,
        reason: str,
        *,
        actor: str | None = None,
        owner: str | None = None,
    ) -> HostRow:
        """Never shortened."""
        assert owner is None
        until = self.now() + seconds
        if until > self.gate(host).held_until:
            self.reasons[host] = reason
            return self.set_gate(host, held_until=until)
        return self.gate(host)

    async def resume_host(self, host: str, *, actor: str | None = None, owner: str | None = None) -> HostRow:
        """All that made it slow is forgotten."""
        assert owner is None
        return self.set_gate(host, held_until=0.0, adaptive_s=0.0, openings=0)

    async def slow_host(
        self, host: str, delay_s: float, *, actor: str | None = None, owner: str | None = None
    ) -> HostRow:
        """The delay of an operator."""
        assert owner is None
        return self.set_gate(host, operator_s=delay_s)

    def gate(self, host: str) -> HostRow:
        """A host as it stands."""
        return self.gates.get(host) or HostRow(host, registrable_domain(host))

    def set_gate(self, host: str, **values: float) -> HostRow:
        """Change what is kept of a host."""
        before = self.gate(host)
        self.gates[host] = msgspec.structs.replace(before, changed_at=before.changed_at + 1.0, **values)
        return self.gates[host]

    def slow_down(self, host: str) -> None:
        """It asked for mercy."""
        self.set_gate(host, adaptive_s=increased_delay_s(self.gate(host).adaptive_s, 0.0))

    def _is_open(self, row: Row) -> bool:
        return row.state == "open" and self.runs[run_of(row.id)].state not in FINISHED
