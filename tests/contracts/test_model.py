"""A state machine over the SQLite backend, judged step by step by a model in plain Python."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from smartspider.core.errors import NotAllowed
from smartspider.core.events import LeasesReturned
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, RetryLater, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.request import Request
from smartspider.core.runs.run import TRANSITIONS
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.runs.fsck import Finding
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import items, plan_of, url
from smartspider_testing.model import Model, ModelRun

T = TypeVar("T")

PAGES = [
    url(f"p{number}", host=host, priority=number % 3)
    for number in range(7)
    for host in ("a.example", "b.example")
]
MEMORY = Path("/dev/shm")

pages = st.sampled_from(PAGES)
some_pages = st.lists(pages, min_size=1, max_size=4)
values = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([None, "x", "y"]), st.sampled_from([None, 1, 2])), max_size=4
)
entries_of_a_run = st.lists(pages, min_size=2, max_size=5)
pick = st.integers(min_value=0, max_value=1000)
ENDS = ["done", "done", "done", "missing", "dead", "broken", "skipped", "retry", "soft", "landed", "landed"]
KEYS = [(("a",),), (("a",), ("b",)), ((),)]
DEDUPS = [
    ItemDedup(),
    ItemDedup(keys=KEYS[2]),
    *(ItemDedup(keys, scope, "last") for keys in KEYS[:2] for scope in ("run", "task")),
    *(ItemDedup(keys, scope, "first", ("n",)) for keys in KEYS[:2] for scope in ("run", "task")),
]
VERDICTS: dict[str, Any] = {
    "ends": st.lists(st.sampled_from(ENDS), min_size=3, max_size=3),
    "found": st.fixed_dictionaries(
        {
            "children": some_pages,
            "next_pages": st.lists(pages, max_size=2),
            "values": values,
            "landing": pages,
        }
    ),
}
LAST: dict[str, Any] = {"children": [], "next_pages": [], "values": [], "landing": PAGES[0]}


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.backend = self.wait(self._open())
        self.model = Model()
        self.workers: list[int] = []
        self.held: list[tuple[int, Lease]] = []
        self.old: list[Lease] = []
        self.slots: dict[str, float] = {}
        self.holds: dict[str, float] = {}
        self.items = 0
        self.dedup = ItemDedup()

    async def _open(self) -> SqliteBackend:
        return SqliteBackend(self.folder, self.clock)

    def wait(self, work: Awaitable[T]) -> T:
        async def main() -> T:
            return await work

        return self.runner.run(main())

    @initialize(entries=entries_of_a_run, delay_s=st.sampled_from([0.0, 1.0]), dedup=st.sampled_from(DEDUPS))
    def begin(self, entries: list[Request], delay_s: float, dedup: ItemDedup) -> None:
        self.dedup = dedup
        self.join()
        self.create_run(entries, delay_s, 2)

    @precondition(lambda self: len(self.model.runs) < 3)
    @rule(
        entries=entries_of_a_run,
        delay_s=st.sampled_from([0.0, 0.5, 2.0]),
        per_host=st.integers(1, 3),
    )
    def create_run(self, entries: list[Request], delay_s: float, per_host: int) -> None:
        plan = plan_of(*entries, delay_s=delay_s, per_host=per_host, dedup=self.dedup)
        run = self.wait(self.backend.store.create_run(plan))
        made = ModelRun(delay_s, per_host, run.id, self.model.items, self.dedup)
        self.model.runs[run.id] = made
        for entry in entries:
            made.find(entry)
        self.set_state(run.id, "running")

    @precondition(lambda self: len(self.workers) < 3)
    @rule()
    def join(self) -> None:
        self.workers.append(self.wait(self.backend.frontier.join(WorkerRegistration("w"))))

    @rule(which=pick, want=st.integers(1, 4))
    def lease(self, which: int, want: int) -> None:
        if not self.workers:
            return
        worker = self.workers[which % len(self.workers)]
        batch = self.wait(self.backend.frontier.lease(worker, want, list(self.model.runs)))
        assert len(batch.leases) <= want
        for lease in batch.leases:
            host = lease.request.host
            self.model.lease(lease.run_id, lease.request.url, lease.token, batch.now)
            assert self.holds.get(host, 0.0) <= batch.now
            delay_s = max(run.delay_s for run in self.model.standing(host))
            assert lease.window.delay_s == delay_s
            assert delay_s == 0.0 or lease.window.not_before - self.slots.get(host, -1e9) >= delay_s - 1e-6
            self.slots[host] = lease.window.not_after
            assert lease.attempts == self.model.runs[lease.run_id].urls[lease.request.url].attempts
            self.held.append((worker, lease))

    @rule()
    def all_lease(self) -> None:
        for which in range(len(self.workers)):
            self.lease(which, 3)

    @precondition(lambda self: self.held)
    @rule(choices=st.lists(pick, min_size=1, max_size=3), **VERDICTS)
    def settle(self, choices: list[int], ends: list[str], found: dict[str, Any]) -> None:
        self._settle([self.held[choice % len(self.held)][1] for choice in choices], ends, found)

    @precondition(lambda self: self.old)
    @rule(choices=st.lists(pick, min_size=1, max_size=3), **VERDICTS)
    def settle_late(self, choices: list[int], ends: list[str], found: dict[str, Any]) -> None:
        known = self.old[-4:] + [lease for _, lease in self.held[:2]]
        self._settle([known[choice % len(known)] for choice in choices], ends, found)

    def _settle(self, leases: list[Lease], ends: list[str], found: dict[str, Any]) -> None:
        batch = []
        for lease, end in zip(leases, ends, strict=False):
            batch.append(Settlement(lease, self._verdict(end, found)))
        self.wait(self.backend.ledger.settle(batch))
        for settlement in batch:
            lease = settlement.lease
            now = self.backend.database.now()
            self.model.settle(lease.run_id, lease.request.url, lease.token, settlement.verdict, now)
            self._drop(lease)

    @rule(kind=st.sampled_from(["release", "crash", "reopen"]), which=pick)
    def fault(self, kind: str, which: int) -> None:
        if kind == "reopen":
            self.reopen()
        elif kind == "crash" and self.workers:
            self.crash(which)
        elif self.held:
            self.release(which)

    def release(self, which: int) -> None:
        _, lease = self.held[which % len(self.held)]
        self.wait(self.backend.frontier.release([lease]))
        self.model.end_lease(lease.run_id, lease.request.url, lease.token)
        self._drop(lease)

    def crash(self, which: int) -> None:
        worker = self.workers.pop(which % len(self.workers))
        mine = [lease for owner, lease in self.held if owner == worker]
        self.wait(self.backend.lose(worker))
        self._lost(self.wait(self.backend.frontier.reclaim()), mine)

    @rule(seconds=st.sampled_from([0.1, 0.6, 2.1, 2.1, 10.0, 61.0]), is_silent=st.booleans())
    def time_passes(self, seconds: float, is_silent: bool) -> None:
        leases = [lease for _, lease in self.held]
        self.wait(self.clock.advance(seconds))
        if not is_silent and seconds < 60.0:
            lost = self.wait(self.backend.frontier.renew(leases))
            held_by_model = [lease for lease in leases if self._row(lease).token == lease.token]
            gone = [lease for lease in leases if lease.token not in self.model.in_flight]
            assert {lease.token for lease in lost} == {lease.token for lease in gone}
            assert len(held_by_model) <= len(leases)
        elif seconds > 60.0:
            self._lost(self.wait(self.backend.frontier.reclaim()), leases)

    @rule(page=pages, run=pick)
    def offer(self, page: Request, run: int) -> None:
        run_id = list(self.model.runs)[run % len(self.model.runs)]
        found = self.wait(self.backend.store.find_urls(page.fingerprint, run_id))
        ids = [record.id for record in found]
        assert self.wait(self.backend.frontier.offer(run_id, ids * 2)) == 0

    @rule(host=st.sampled_from(["a.example", "b.example"]), seconds=st.sampled_from([None, 0.5, 5.0]))
    def hold(self, host: str, seconds: float | None) -> None:
        if seconds is None:
            self.resume_host(host)
            return
        self.wait(self.backend.frontier.hold_host(host, seconds, "test"))
        self.holds[host] = max(self.holds.get(host, 0.0), self.backend.database.now() + seconds)

    def resume_host(self, host: str) -> None:
        self.wait(self.backend.frontier.resume_host(host))
        self.holds.pop(host, None)

    @rule(
        run=pick,
        state=st.sampled_from(
            ["finish"] * 3 + ["paused"] * 2 + ["running"] * 6 + ["stopping", "stopped", "cancelled"]
        ),
    )
    def change_state(self, run: int, state: Any) -> None:
        run_id = list(self.model.runs)[run % len(self.model.runs)]
        if state == "finish":
            self.finish(run)
        elif state in TRANSITIONS[self.model.runs[run_id].state]:
            self.set_state(run_id, state)

    @rule(run=pick)
    def retry(self, run: int) -> None:
        run_id = list(self.model.runs)[run % len(self.model.runs)]
        opened = self.model.retry(run_id)
        if opened:
            assert self.wait(self.backend.store.retry(run_id)) == opened
        else:
            with pytest.raises(NotAllowed):
                self.wait(self.backend.store.retry(run_id))

    def set_state(self, run_id: int, state: Any) -> None:
        self.wait(self.backend.store.set_state(run_id, state))
        self.model.set_state(run_id, state)

    def finish(self, run: int) -> None:
        run_id = list(self.model.runs)[run % len(self.model.runs)]
        before = self.model.runs[run_id].state
        after = self.wait(self.backend.store.finish(run_id)).state
        if before in ("running", "stopping") and self.model.is_complete(run_id):
            assert after in ("completed", "failed")
        elif before != "stopping":
            assert after == before
        self.model.runs[run_id].state = after

    def reopen(self) -> None:
        mine = [lease for _, lease in self.held]
        self.wait(self.backend.reopen())
        self.workers.clear()
        self._lost(self.wait(self.backend.frontier.reclaim()), mine)

    @invariant()
    def store_and_model_agree(self) -> None:
        found, findings = self.wait(self._look())
        for run_id, run in self.model.runs.items():
            wanted = {key: (row.state, row.attempts, len(row.items)) for key, row in run.urls.items()}
            assert found.get(run_id, {}) == wanted
            counters = self.wait(self.backend.store.get_run(run_id)).counters
            assert counters.items == sum(len(row.items) for row in run.urls.values())
            assert counters.duplicates == self.model.items.duplicates[run_id]
            assert counters.updated == self.model.items.updated[run_id]
        assert findings == []

    async def _look(self) -> tuple[dict[int, dict[str, tuple[str, int, int]]], list[Finding]]:
        found: dict[int, dict[str, tuple[str, int, int]]] = {}
        for page in PAGES:
            for row in await self.backend.store.find_urls(page.fingerprint):
                found.setdefault(row.run_id, {})[row.url] = (row.state, row.attempts, row.items)
        return found, await self.backend.store.fsck()

    def teardown(self) -> None:
        """Everything that may go on goes on to its end, and has the items the model has."""
        try:
            self._drain()
            for run_id, run in self.model.runs.items():
                stored = self.wait(items(self.backend, self.wait(self.backend.store.get_run(run_id))))
                wanted = [item for row in run.urls.values() for item in row.items]
                assert sorted(map(str, stored)) == sorted(map(str, wanted))
        finally:
            self.wait(self.backend.close())
            self.runner.close()
            shutil.rmtree(self.folder)

    def _drain(self) -> None:
        for host in ("a.example", "b.example"):
            self.resume_host(host)
        self.reopen()  # a run that is stopping stops when nothing of it is in flight any more
        self.join()
        for run_id, run in self.model.runs.items():
            self.finish(list(self.model.runs).index(run_id))
            if run.state in ("queued", "paused", "stopped"):
                self.set_state(run_id, "running")
        going = [run_id for run_id, run in self.model.runs.items() if run.state in ("running", "stopping")]
        for _ in range(200):
            if all(self.model.is_complete(run_id) for run_id in going):
                break
            self.lease(0, 3)
            self.wait(self.clock.advance(2.1))
            self._settle([lease for _, lease in self.held], ["done"] * len(self.held), LAST)
        for run_id in going:
            self.finish(list(self.model.runs).index(run_id))
            assert self.model.runs[run_id].state in ("completed", "failed"), "the run is stuck"

    def _lost(self, returned: list[LeasesReturned], leases: list[Lease]) -> None:
        """Leases went back to the queue; a request that lost too many workers may be buried by that."""
        for lease in leases:
            row = self._row(lease)
            if row.token == lease.token:
                row.due_at = 0.0
            self.model.end_lease(lease.run_id, lease.request.url, lease.token)
            (record,) = self.wait(self.backend.store.find_urls(lease.request.fingerprint, lease.run_id))
            if row.state == "open" and record.state == "dead":
                assert record.returns >= 6
                row.state = "dead"
            self._drop(lease)
        assert sum(event.count for event in returned) <= len(leases)

    def _row(self, lease: Lease) -> Any:
        return self.model.runs[lease.run_id].urls[lease.request.url]

    def _drop(self, lease: Lease) -> None:
        self.held = [(worker, held) for worker, held in self.held if held.token != lease.token]
        self.old.append(lease)

    def _verdict(self, end: str, found: dict[str, Any]) -> Close | RetryLater:
        rows: list[Item] = [{"n": n, "a": a, "b": b} for a, b, n in found["values"]]
        self.items += 1
        if self.items % 2 or not self.dedup.keys:
            rows.append({"n": self.items, "a": self.items, "b": None})
        page = Close(
            "done",
            items=rows,
            keys=[self.dedup.keys_of(item) for item in rows] if self.dedup.keys else [],
            children=found["children"],
            next_pages=found["next_pages"],
        )
        match end:
            case "retry":
                return RetryLater(5.0, "test")
            case "soft":
                return RetryLater(0.0, "test", counts=False)
            case "landed":
                return msgspec.structs.replace(page, state="redirect", landed=found["landing"])
            case "done":
                return page
            case _:
                state: Any = end
                return Close(state, reason="test")


LedgerMachine.TestCase.settings = settings(
    max_examples=70,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLedgerModel = pytest.mark.thorough(LedgerMachine.TestCase)
