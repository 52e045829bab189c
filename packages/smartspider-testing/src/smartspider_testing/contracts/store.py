"""The promises of `interfaces/store.py`, tested by their numbers."""

from __future__ import annotations

import json

import msgspec
import pytest

from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs import TRANSITIONS, Run, RunState
from smartspider.core.workers import WorkerCard
from smartspider_testing.contracts.acts import (
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
from smartspider_testing.contracts.ground import Ground
from smartspider_testing.contracts.listing import ListingContract
from smartspider_testing.contracts.pinning import PinningContract
from smartspider_testing.contracts.retries import RetryContract
from smartspider_testing.contracts.telling import TellingContract
from smartspider_testing.contracts.turning import TurningContract

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
"""How a run gets into each state."""

CHANGES = [(old, new) for old in WAYS for new in WAYS if old != new]
OVER: tuple[RunState, ...] = ("completed", "failed", "cancelled")


async def run_in(ground: Ground, state: RunState) -> Run:
    """A run in a state."""
    run = await ground.store.create_run(plan_of("entry"))
    for step in WAYS[state]:
        run = await ground.store.set_state(run.id, step)
    return run


class StoreContract(TellingContract, PinningContract, ListingContract, TurningContract, RetryContract):
    """A store keeps the truth."""

    async def test_a_run_comes_with_its_entries(self, ground: Ground) -> None:
        """Store 1, rule 1."""
        run = await ground.store.create_run(plan_of("one", "two", name="shop"))
        assert (run.state, run.task_name, run.counters.total, run.counters.open) == ("queued", "shop", 2, 2)
        found = await record(ground, run, "one")
        assert (found.state, found.place, found.parent, found.depth) == ("open", "queued", None, 0)
        assert await ground.store.get_run(run.id) == run

    async def test_an_entry_given_twice_is_one_row(self, ground: Ground) -> None:
        """Store 1, rule 1: the unique key is the judge."""
        run = await ground.store.create_run(plan_of("one", "one", "one?utm_source=x"))
        assert run.counters.total == 1

    async def test_a_run_without_entries_is_refused(self, ground: Ground) -> None:
        """Store 1: a run has at least one row."""
        with pytest.raises(NotAllowed):
            await ground.store.create_run(msgspec.structs.replace(plan_of(), entries=()))
        assert await ground.store.find_runs() == []

    async def test_a_run_with_a_bad_entry_is_not_made_at_all(self, ground: Ground) -> None:
        """Store 1: one transaction."""
        bad = msgspec.structs.replace(url("bad"), page="\ud800")
        with pytest.raises(UnicodeEncodeError):
            await ground.store.create_run(plan_of("good", bad))
        assert await ground.store.find_runs() == []

    async def test_runs_are_found_newest_first_and_by_task(self, ground: Ground) -> None:
        """Store 1."""
        made = [(await ground.store.create_run(plan_of(name=name))).id for name in ("a", "b", "a")]
        assert [run.id for run in await ground.store.find_runs()] == made[::-1]
        assert [run.id for run in await ground.store.find_runs("a")] == [made[2], made[0]]
        with pytest.raises(NotFound):
            await ground.store.get_run(made[-1] + 1)

    @pytest.mark.parametrize(("old", "new"), CHANGES)
    async def test_states_follow_each_other_only_as_allowed(
        self, ground: Ground, old: RunState, new: RunState
    ) -> None:
        """Store 2: anything else is refused and changes nothing."""
        run = await run_in(ground, old)
        if new in TRANSITIONS[old]:
            after = await ground.store.set_state(run.id, new, "because")
            assert (after.state, after.reason) == (new, "because")
        else:
            with pytest.raises(NotAllowed):
                await ground.store.set_state(run.id, new)
            assert await ground.store.get_run(run.id) == run

    @pytest.mark.parametrize("state", OVER)
    async def test_a_run_that_was_ended_has_no_open_row(self, ground: Ground, state: RunState) -> None:
        """Store 3: what nobody holds and what a worker holds, both get a reason."""
        run = await begin(ground, "queued", "leased", "waiting")
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = {lease.request.url[-6:]: lease for lease in await take(ground, worker, run, want=3)}
        await settle(ground, failed(leases["aiting"], delay_s=60.0))
        await ground.frontier.release([leases["queued"]])
        after = await ground.store.set_state(run.id, state)
        assert (after.counters.open, after.counters.skipped) == (0, 3)
        assert [(await record(ground, run, path)).reason for path in ("queued", "leased", "waiting")] == [
            state
        ] * 3
        assert after.finished_at == ground.clock.now()
        report = await settle(ground, done(leases["leased"], url("child"), items=[{"a": 1}]))
        assert (report.closed, report.late, report.new_urls, report.items) == (0, 1, 0, 0)
        assert await ground.store.fsck() == []

    async def test_a_run_completes_exactly_when_none_is_open(self, ground: Ground) -> None:
        """Store 3, ledger 8, rule 4."""
        run = await begin(ground, "one", "two")
        worker = await ground.frontier.join(WorkerCard("w"))
        assert (await ground.store.finish(run.id)).state == "running"
        first, second = await take(ground, worker, run)
        await settle(ground, done(first))
        assert (await ground.store.finish(run.id)).state == "running"
        await settle(ground, failed(second, delay_s=5.0))
        assert (await ground.store.finish(run.id)).state == "running"
        await ground.clock.advance(5.0)
        await settle(ground, done(await take_one(ground, worker, run)))
        run = await ground.store.finish(run.id)
        assert (run.state, run.finished_at) == ("completed", ground.clock.now())
        assert await ground.store.finish(run.id) == run

    @pytest.mark.parametrize("end", ["dead", "broken", "skipped"])
    async def test_a_run_none_of_whose_entries_came_has_failed(self, ground: Ground, end: str) -> None:
        """Store 3: with the first reason; children that came do not help."""
        run = await begin(ground, "one", "two")
        worker = await ground.frontier.join(WorkerCard("w"))
        leases = await take(ground, worker, run)
        await settle(ground, *(closed(lease, end, "no luck") for lease in leases))
        run = await ground.store.finish(run.id)
        assert run.state == "failed"
        assert "no luck" in run.reason
        assert "a.example/one" in run.reason

    @pytest.mark.parametrize("end", ["done", "missing"])
    async def test_one_entry_that_answered_is_enough(self, ground: Ground, end: str) -> None:
        """Store 3."""
        run = await begin(ground, "one", "two")
        worker = await ground.frontier.join(WorkerCard("w"))
        one, two = await take(ground, worker, run)
        await settle(ground, closed(one, "dead"), closed(two, end))
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_stopping_waits_for_what_is_in_flight_and_can_be_resumed(self, ground: Ground) -> None:
        """Store 3, rule 4."""
        run = await begin(ground, "one", "two")
        worker = await ground.frontier.join(WorkerCard("w"))
        lease = await take_one(ground, worker, run)
        await ground.store.set_state(run.id, "stopping", "by hand")
        assert (await ground.store.finish(run.id)).state == "stopping"
        await settle(ground, done(lease))
        assert (await ground.store.finish(run.id)).state == "stopped"
        await ground.store.set_state(run.id, "running")
        await settle(ground, done(await take_one(ground, worker, run)))
        assert (await ground.store.finish(run.id)).state == "completed"

    async def test_items_come_in_order_by_a_cursor(self, ground: Ground) -> None:
        """Store 4, rule 14: a cursor never skips or repeats, also while pages are settled."""
        run, other = await begin(ground, "one", "two"), await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        one, two = await take(ground, worker, run)
        await settle(ground, done(one, items=[{"n": 1}, {"n": 2}]))
        await settle(ground, done(await take_one(ground, worker, other), items=[{"n": 99}]))
        seen, last = [], 0
        async for batch in ground.store.items(run.id):
            seen += [json.loads(item.data)["n"] for item in batch]
            last = batch[-1].id
            if len(seen) == 2:
                await settle(ground, done(two, items=[{"n": 3}]))
        assert seen == [1, 2, 3]
        first, *_ = [item async for batch in ground.store.items(run.id) for item in batch]
        assert (first.run_id, first.url) == (run.id, f"http://{HOST}/one")
        assert [item async for batch in ground.store.items(run.id, last) for item in batch] == []
        rest = [item.data async for batch in ground.store.items(run.id, first.id) for item in batch]
        assert [json.loads(data) for data in rest] == [{"n": 2}, {"n": 3}]

    async def test_more_items_than_a_batch_are_read_whole(self, ground: Ground) -> None:
        """Store 4."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        lease = await take_one(ground, worker, run)
        await settle(ground, done(lease, items=[{"n": number} for number in range(5000)]))
        assert [item["n"] for item in await items(ground, run)] == list(range(5000))

    async def test_fields_keep_their_order(self, ground: Ground) -> None:
        """Store 4: as the task has them."""
        run = await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, done(await take_one(ground, worker, run), items=[{"z": 1, "a": None, "m": [1]}]))
        assert list((await items(ground, run))[0]) == ["z", "a", "m"]

    async def test_a_deleted_run_is_gone_for_good(self, ground: Ground) -> None:
        """Store 5, rule 9: nothing of it is left, a late page adds nothing, its id is never used again."""
        run, other = await begin(ground, "one"), await begin(ground, "one")
        worker = await ground.frontier.join(WorkerCard("w"))
        lease = await take_one(ground, worker, run)
        await ground.clock.advance(3600.0)
        await ground.frontier.reclaim()
        await ground.store.set_state(run.id, "paused")
        await ground.store.delete_run(run.id)
        report = await settle(ground, done(lease, url("child"), items=[{"n": 1}]))
        assert (report.closed, report.late, report.new_urls, report.items) == (0, 1, 0, 0)
        assert await ground.frontier.offer(run.id, [lease.url_id]) == 0
        assert await take(ground, worker, run) == []
        assert await items(ground, run) == []
        with pytest.raises(NotFound):
            await ground.store.get_run(run.id)
        assert [found.run_id for found in await ground.store.find_urls(url("one").fingerprint)] == [other.id]
        await ground.store.set_state(other.id, "cancelled")
        await ground.store.delete_run(other.id)
        await ground.reopen()
        assert (await ground.store.create_run(plan_of())).id > other.id

    @pytest.mark.parametrize("state", ["running", "stopping"])
    async def test_a_run_that_is_worked_on_is_not_deleted(self, ground: Ground, state: RunState) -> None:
        """Store 5."""
        run = await run_in(ground, state)
        with pytest.raises(NotAllowed):
            await ground.store.delete_run(run.id)
        assert (await ground.store.get_run(run.id)).state == state

    async def test_a_run_with_a_lease_out_is_not_deleted(self, ground: Ground) -> None:
        """Store 5."""
        run = await begin(ground, "one")
        await take_one(ground, await ground.frontier.join(WorkerCard("w")), run)
        await ground.store.set_state(run.id, "paused")
        with pytest.raises(
            NotAllowed, match="is paused, and 1 of its requests are still in flight"
        ) as refused:
            await ground.store.delete_run(run.id)
        assert "cancel it" in refused.value.hint

    @pytest.mark.parametrize("how", ["settle", "release", "leave", "die"])
    async def test_a_cancelled_run_is_deleted_whatever_workers_hold_of_it(
        self, ground: Ground, how: str
    ) -> None:
        """Store 5, rule 9: what comes late adds nothing, however it comes, and the host is free after it."""
        run, other = await begin(ground, "one", per_host=1), await begin(ground, "one", per_host=1)
        holder, asker = [await ground.frontier.join(WorkerCard(name)) for name in ("holder", "asker")]
        lease = await take_one(ground, holder, run)
        await ground.store.set_state(run.id, "cancelled")
        await ground.store.delete_run(run.id)
        if how == "settle":
            report = await settle(ground, done(lease, url("child"), items=[{"n": 1}]))
            assert (report.late, report.new_urls, report.items) == (1, 0, 0)
        elif how == "release":
            await ground.frontier.release([lease])
        elif how == "leave":
            await ground.frontier.leave(holder)
        else:
            await ground.lose(holder)
            await ground.frontier.reclaim()
        assert [taken.run_id for taken in await take(ground, asker, run, other)] == [other.id]
        with pytest.raises(NotFound):
            await ground.store.get_run(run.id)
