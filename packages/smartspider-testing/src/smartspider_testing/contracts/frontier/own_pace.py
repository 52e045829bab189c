"""Frontier 4 and 9: delays and holds that apply to the runs of one user alone."""

from __future__ import annotations

from typing import Any

from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import Tuning
from smartspider.core.workers.worker import WorkerRegistration
from smartspider_testing.contracts.actions import HOST, begin, done, plan_of, settle, take, take_one, urls
from smartspider_testing.contracts.backend import Backend, BackendContract

DAY_S = 86_400.0


async def begin_as(backend: Backend, owner: str, **options: Any) -> Run:
    """Start a run of a task that a user owns."""
    plan = plan_of(*urls(9), name=f"task of {owner}", **options)
    run = await backend.store.create_run(plan, actor=owner)
    return await backend.store.set_state(run.id, "running")


class OwnPaceContract(BackendContract):
    """Limits that a user asks for beyond reason slow down that user's runs, and no others."""

    async def test_a_huge_delay_of_one_run_does_not_slow_down_others(self, backend: Backend) -> None:
        """Frontier 4: its own slots are that far apart; others do not wait for it, nor for its turn."""
        huge = await begin(backend, *urls(9), delay_s=DAY_S)
        usual = await begin(backend, *urls(30), delay_s=0.1)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        served = {huge.id: 0, usual.id: 0}
        for _ in range(20):
            for lease in await take(backend, worker, huge, usual):
                served[lease.run_id] += 1
                assert lease.window.delay_s == 0.1
                await settle(backend, done(lease))
            await backend.clock.advance(0.2)
        assert served == {huge.id: 1, usual.id: 19}

    async def test_a_run_with_a_huge_delay_keeps_it(self, backend: Backend) -> None:
        """Frontier 4: one request at a time, also at a host without any delay, and the next one in time."""
        run = await begin(backend, *urls(3), delay_s=DAY_S)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        lease = await take_one(backend, worker, run)
        assert lease.window.delay_s == 0.5  # alone at the host, so redirects are spaced as usual
        await settle(backend, done(lease))
        for wait_s in (1.0, DAY_S - 10.0):
            await backend.clock.advance(wait_s)
            batch = await backend.frontier.lease(worker, 9, [run.id])
            assert batch.leases == []
        assert batch.next_at is not None
        await backend.clock.advance(10.0)
        (lease,) = await take(backend, worker, run)
        await backend.frontier.release([lease])  # unused, so its slot is free again
        await backend.clock.advance(1.0)
        assert len(await take(backend, worker, run)) == 1

    async def test_windows_ahead_are_not_for_a_run_with_a_delay_or_hold_of_its_own(
        self, backend: Backend
    ) -> None:
        """Frontier 4: they would be the windows of the gate, which are closer."""
        huge = await begin_as(backend, "ann", delay_s=DAY_S)
        held, usual = await begin_as(backend, "bob", delay_s=0.2), await begin_as(backend, "eve", delay_s=0.2)
        await backend.frontier.hold_host(HOST, 600.0, "mine", owner="bob")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        served = {huge.id: 0, held.id: 0, usual.id: 0}
        for _ in range(8):
            batch = await backend.frontier.lease(worker, 9, list(served), ahead_s=1.0)
            for lease in batch.leases:
                served[lease.run_id] += 1
                await settle(backend, done(lease))
            await backend.clock.advance(0.5)
        assert served == {huge.id: 1, held.id: 0, usual.id: 9}

    async def test_a_huge_delay_that_is_taken_back_is_over_at_once(self, backend: Backend) -> None:
        """RunStore 9: and one that is set applies from the last slot on."""
        run = await begin(backend, *urls(9), delay_s=DAY_S)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run)))
        await backend.clock.advance(100.0)
        assert await take(backend, worker, run) == []
        await backend.store.tune(run.id, Tuning(delay_s=90.0))
        await settle(backend, done(await take_one(backend, worker, run)))
        await backend.store.tune(run.id, Tuning(delay_s=1.0))
        await backend.clock.advance(1.1)
        assert (await take_one(backend, worker, run)).window.delay_s == 1.0

    async def test_a_hold_of_a_user_stops_the_runs_of_that_user_alone(self, backend: Backend) -> None:
        """Frontier 9: those that are there and those that come, until it ends or is lifted."""
        ann, bob = await begin_as(backend, "ann"), await begin_as(backend, "bob", delay_s=1.0)
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.frontier.hold_host(HOST, 600.0, "mine", owner="ann")
        later = await begin_as(backend, "ann")
        assert {lease.run_id for lease in await take(backend, worker, ann, bob, later)} == {bob.id}
        await backend.clock.advance(2.0)
        assert {lease.run_id for lease in await take(backend, worker, ann, bob, later)} == {bob.id}
        await backend.frontier.resume_host(HOST, owner="ann")
        await backend.clock.advance(2.0)
        assert {lease.run_id for lease in await take(backend, worker, ann, later)} <= {ann.id, later.id}
        await backend.frontier.hold_host(HOST, 60.0, "mine", owner="ann")
        await backend.clock.advance(2.0)
        assert await take(backend, worker, ann, later) == []
        await backend.clock.advance(60.0)
        assert len(await take(backend, worker, ann, later)) == 1

    async def test_a_delay_of_a_user_slows_down_the_runs_of_that_user_alone(self, backend: Backend) -> None:
        """Frontier 9: until it is set to 0."""
        ann, bob = await begin_as(backend, "ann"), await begin_as(backend, "bob")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await backend.frontier.slow_host(HOST, 30.0, owner="ann")
        assert len(await take(backend, worker, ann)) == 1
        await backend.clock.advance(10.0)
        assert await take(backend, worker, ann) == []
        assert len(await take(backend, worker, ann, bob)) == 9
        await backend.clock.advance(21.0)
        assert len(await take(backend, worker, ann)) == 1
        await backend.frontier.slow_host(HOST, 0.0, owner="ann")
        assert len(await take(backend, worker, ann)) == 7

    async def test_a_change_for_own_runs_is_in_the_audit_with_whose_they_are(self, backend: Backend) -> None:
        """Frontier 9: so that it can be told from one for all runs."""
        await begin_as(backend, "ann")
        await backend.frontier.slow_host(HOST, 2.0, actor="ann", owner="ann")
        newest = (await backend.audit.entries())[0]
        assert (newest.actor, newest.action) == ("ann", "host.slowed")
        assert newest.detail == b'{"delay_s":2.0,"runs_of":"ann"}'

    async def test_a_run_is_told_what_holds_it_alone(self, backend: Backend) -> None:
        """Diagnostics: the delay and the hold of its owner are part of its gates, not of those of others."""
        ann, bob = await begin_as(backend, "ann", delay_s=DAY_S), await begin_as(backend, "bob")
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, ann)))
        (gate,) = (await backend.insight.activity(ann.id)).gates
        assert (gate.delay_s, gate.set_by) == (DAY_S, "task")
        await backend.frontier.hold_host(HOST, 600.0, "lunch", owner="ann")
        (gate,) = (await backend.insight.activity(ann.id)).gates
        assert gate.held_until > 0
        assert "ann" in gate.hold_reason
        assert "lunch" in gate.hold_reason
        (other,) = (await backend.insight.activity(bob.id)).gates
        assert (other.delay_s, other.held_until) == (0.0, 0.0)
