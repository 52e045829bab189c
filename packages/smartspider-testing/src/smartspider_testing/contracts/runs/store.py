"""The contract of `store/runs/store.py`; tests name the promise they check."""

from __future__ import annotations

import json

import msgspec
import pytest

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.run import TRANSITIONS, Run, RunState
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import (
    HOST,
    begin,
    closed,
    done,
    failed,
    items,
    plan_of,
    record,
    settle,
    take,
    take_one,
    url,
)
from smartspider_testing.contracts.backend import Backend
from smartspider_testing.contracts.runs.causes import CauseContract
from smartspider_testing.contracts.runs.inspection import RunInspectionContract
from smartspider_testing.contracts.runs.listing import ListingContract
from smartspider_testing.contracts.runs.retries import RetryContract
from smartspider_testing.contracts.runs.settings import RunSettingsContract
from smartspider_testing.contracts.runs.task_versions import TaskVersionContract

WAYS: dict[RunState, tuple[RunState, ...]] = {
    "queued": (),
    "running": ("running",),
    "paused": ("running", "paused"),
    "stopping": ("running", "stopping"),
    "stopped": ("running", "stopped"),
    "cancelled": ("cancelled",),
    "completed": ("running", "completed"),
    "failed": ("running", "failed"),
}
"""The transitions that lead to each state."""

CHANGES = [(old, new) for old in WAYS for new in WAYS if old != new]
OVER: tuple[RunState, ...] = ("completed", "failed", "cancelled")


async def run_in(backend: Backend, state: RunState) -> Run:
    """Return a run in a state."""
    run = await backend.store.create_run(plan_of("entry"))
    for step in WAYS[state]:
        run = await backend.store.set_state(run.id, step)
    return run


class StoreContract(
    RunInspectionContract,
    TaskVersionContract,
    ListingContract,
    RunSettingsContract,
    RetryContract,
    CauseContract,
):
    """The run store is the source of truth."""

    async def test_a_run_comes_with_its_entries(self, backend: Backend) -> None:
        """RunStore 1, rule 1."""
        run = await backend.store.create_run(plan_of("one", "two", name="shop"))
        assert (run.state, run.task_name, run.counters.total, run.counters.open) == ("queued", "shop", 2, 2)
        found = await record(backend, run, "one")
        assert (found.state, found.place, found.parent, found.depth) == ("open", "queued", None, 0)
        assert await backend.store.get_run(run.id) == run

    async def test_an_entry_given_twice_is_one_row(self, backend: Backend) -> None:
        """RunStore 1, rule 1: the unique key is the judge."""
        run = await backend.store.create_run(plan_of("one", "one", "one?utm_source=x"))
        assert run.counters.total == 1

    async def test_a_run_without_entries_is_refused(self, backend: Backend) -> None:
        """RunStore 1: a run has at least one row."""
        with pytest.raises(NotAllowed):
            await backend.store.create_run(msgspec.structs.replace(plan_of(), entries=()))
        assert await backend.store.find_runs() == []

    async def test_a_run_with_a_bad_entry_is_not_made_at_all(self, backend: Backend) -> None:
        """RunStore 1: one transaction."""
        bad = msgspec.structs.replace(url("bad"), page="\ud800")
        with pytest.raises(UnicodeEncodeError):
            await backend.store.create_run(plan_of("good", bad))
        assert await backend.store.find_runs() == []

    async def test_runs_are_found_newest_first_and_by_task(self, backend: Backend) -> None:
        """RunStore 1."""
        made = [(await backend.store.create_run(plan_of(name=name))).id for name in ("a", "b", "a")]
        assert [run.id for run in await backend.store.find_runs()] == made[::-1]
        assert [run.id for run in await backend.store.find_runs("a")] == [made[2], made[0]]
        with pytest.raises(NotFound):
            await backend.store.get_run(made[-1] + 1)

    @pytest.mark.parametrize(("old", "new"), CHANGES)
    async def test_states_follow_each_other_only_as_allowed(
        self, backend: Backend, old: RunState, new: RunState
    ) -> None:
        """RunStore 2: anything else is refused and changes nothing."""
        run = await run_in(backend, old)
        if new in TRANSITIONS[old]:
            after = await backend.store.set_state(run.id, new, "because")
            assert (after.state, after.reason) == (new, "because")
        else:
            with pytest.raises(NotAllowed):
                await backend.store.set_state(run.id, new)
            assert await backend.store.get_run(run.id) == run

    @pytest.mark.parametrize("state", OVER)
    async def test_a_run_that_was_ended_has_no_open_row(self, backend: Backend, state: RunState) -> None:
        """RunStore 3: queued and leased rows both get a reason."""
        run = await begin(backend, "queued", "leased", "waiting")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = {lease.request.url[-6:]: lease for lease in await take(backend, worker, run, want=3)}
        await settle(backend, failed(leases["aiting"], delay_s=60.0))
        await backend.frontier.release([leases["queued"]])
        after = await backend.store.set_state(run.id, state)
        assert (after.counters.open, after.counters.skipped) == (0, 3)
        assert [(await record(backend, run, path)).reason for path in ("queued", "leased", "waiting")] == [
            state
        ] * 3
        assert after.finished_at == backend.clock.now()
        report = await settle(backend, done(leases["leased"], url("child"), items=[{"a": 1}]))
        assert (report.closed, report.late, report.new_urls, report.items) == (0, 1, 0, 0)
        assert await backend.store.fsck() == []

    async def test_a_run_completes_exactly_when_none_is_open(self, backend: Backend) -> None:
        """RunStore 3, ledger 8, rule 4."""
        run = await begin(backend, "one", "two")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        assert (await backend.store.finish(run.id)).state == "running"
        first, second = await take(backend, worker, run)
        await settle(backend, done(first))
        assert (await backend.store.finish(run.id)).state == "running"
        await settle(backend, failed(second, delay_s=5.0))
        assert (await backend.store.finish(run.id)).state == "running"
        await backend.clock.advance(5.0)
        await settle(backend, done(await take_one(backend, worker, run)))
        run = await backend.store.finish(run.id)
        assert (run.state, run.finished_at) == ("completed", backend.clock.now())
        assert await backend.store.finish(run.id) == run

    @pytest.mark.parametrize("end", ["dead", "broken", "skipped"])
    async def test_a_run_none_of_whose_entries_came_has_failed(self, backend: Backend, end: str) -> None:
        """RunStore 3: with the first reason; children that came do not help."""
        run = await begin(backend, "one", "two")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        leases = await take(backend, worker, run)
        await settle(backend, *(closed(lease, end, "no luck") for lease in leases))
        run = await backend.store.finish(run.id)
        assert run.state == "failed"
        assert "no luck" in run.reason
        assert "a.example/one" in run.reason

    @pytest.mark.parametrize("end", ["done", "missing"])
    async def test_one_entry_that_answered_is_enough(self, backend: Backend, end: str) -> None:
        """RunStore 3."""
        run = await begin(backend, "one", "two")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        one, two = await take(backend, worker, run)
        await settle(backend, closed(one, "dead"), closed(two, end))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_stopping_waits_for_what_is_in_flight_and_can_be_resumed(self, backend: Backend) -> None:
        """RunStore 3, rule 4."""
        run = await begin(backend, "one", "two")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await backend.store.set_state(run.id, "stopping", "by hand")
        assert (await backend.store.finish(run.id)).state == "stopping"
        await settle(backend, done(lease))
        assert (await backend.store.finish(run.id)).state == "stopped"
        await backend.store.set_state(run.id, "running")
        await settle(backend, done(await take_one(backend, worker, run)))
        assert (await backend.store.finish(run.id)).state == "completed"

    async def test_items_come_in_order_by_a_cursor(self, backend: Backend) -> None:
        """RunStore 4, rule 14: a cursor never skips or repeats, also while pages are settled."""
        run, other = await begin(backend, "one", "two"), await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        one, two = await take(backend, worker, run)
        await settle(backend, done(one, items=[{"n": 1}, {"n": 2}]))
        await settle(backend, done(await take_one(backend, worker, other), items=[{"n": 99}]))
        seen, last = [], 0
        async for batch in backend.store.items(run.id):
            seen += [json.loads(item.data)["n"] for item in batch]
            last = batch[-1].id
            if len(seen) == 2:
                await settle(backend, done(two, items=[{"n": 3}]))
        assert seen == [1, 2, 3]
        first, *_ = [item async for batch in backend.store.items(run.id) for item in batch]
        assert (first.run_id, first.url) == (run.id, f"http://{HOST}/one")
        assert [item async for batch in backend.store.items(run.id, last) for item in batch] == []
        rest = [item.data async for batch in backend.store.items(run.id, first.id) for item in batch]
        assert [json.loads(data) for data in rest] == [{"n": 2}, {"n": 3}]

    async def test_more_items_than_a_batch_are_read_whole(self, backend: Backend) -> None:
        """RunStore 4."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await settle(backend, done(lease, items=[{"n": number} for number in range(5000)]))
        assert [item["n"] for item in await items(backend, run)] == list(range(5000))

    async def test_fields_keep_their_order(self, backend: Backend) -> None:
        """RunStore 4: as the task has them."""
        run = await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(
            backend, done(await take_one(backend, worker, run), items=[{"z": 1, "a": None, "m": [1]}])
        )
        assert list((await items(backend, run))[0]) == ["z", "a", "m"]

    async def test_a_deleted_run_is_gone_for_good(self, backend: Backend) -> None:
        """RunStore 5, rule 9: nothing of it is left, a late page adds nothing, its id is never used again."""
        run, other = await begin(backend, "one"), await begin(backend, "one")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        await backend.clock.advance(3600.0)
        await backend.frontier.reclaim()
        await backend.store.set_state(run.id, "paused")
        await backend.store.delete_run(run.id)
        report = await settle(backend, done(lease, url("child"), items=[{"n": 1}]))
        assert (report.closed, report.late, report.new_urls, report.items) == (0, 1, 0, 0)
        assert await backend.frontier.offer(run.id, [lease.url_id]) == 0
        assert await take(backend, worker, run) == []
        assert await items(backend, run) == []
        with pytest.raises(NotFound):
            await backend.store.get_run(run.id)
        assert [found.run_id for found in await backend.store.find_urls(url("one").fingerprint)] == [other.id]
        await backend.store.set_state(other.id, "cancelled")
        await backend.store.delete_run(other.id)
        await backend.reopen()
        assert (await backend.store.create_run(plan_of())).id > other.id

    @pytest.mark.parametrize("state", ["running", "stopping"])
    async def test_a_run_that_is_worked_on_is_not_deleted(self, backend: Backend, state: RunState) -> None:
        """RunStore 5."""
        run = await run_in(backend, state)
        with pytest.raises(NotAllowed):
            await backend.store.delete_run(run.id)
        assert (await backend.store.get_run(run.id)).state == state

    async def test_a_run_with_a_lease_out_is_not_deleted(self, backend: Backend) -> None:
        """RunStore 5."""
        run = await begin(backend, "one")
        await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
        await backend.store.set_state(run.id, "paused")
        with pytest.raises(
            NotAllowed, match="is paused, and 1 of its requests are still in flight"
        ) as refused:
            await backend.store.delete_run(run.id)
        assert "cancel it" in refused.value.hint

    @pytest.mark.parametrize("how", ["settle", "release", "leave", "die"])
    async def test_a_cancelled_run_is_deleted_whatever_workers_hold_of_it(
        self, backend: Backend, how: str
    ) -> None:
        """RunStore 5, rule 9: a late settle of any kind adds nothing, and the host is free afterwards."""
        run, other = await begin(backend, "one", per_host=1), await begin(backend, "one", per_host=1)
        holder, asker = [
            await backend.frontier.join(WorkerRegistration(name)) for name in ("holder", "asker")
        ]
        lease = await take_one(backend, holder, run)
        await backend.store.set_state(run.id, "cancelled")
        await backend.store.delete_run(run.id)
        if how == "settle":
            report = await settle(backend, done(lease, url("child"), items=[{"n": 1}]))
            assert (report.late, report.new_urls, report.items) == (1, 0, 0)
        elif how == "release":
            await backend.frontier.release([lease])
        elif how == "leave":
            await backend.frontier.leave(holder)
        else:
            await backend.lose(holder)
            await backend.frontier.reclaim()
        assert [taken.run_id for taken in await take(backend, asker, run, other)] == [other.id]
        with pytest.raises(NotFound):
            await backend.store.get_run(run.id)
