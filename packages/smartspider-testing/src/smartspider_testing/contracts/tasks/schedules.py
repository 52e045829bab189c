"""The contract of `store/schedules.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import Conflict, LeadershipLost, NotAllowed, NotFound
from smartspider.core.runs.plan import Plan
from smartspider.core.schedules import ScheduleRecord, ScheduleRule
from smartspider.core.tasks import TaskSpec
from smartspider.store.schedules import KEPT_FIRINGS, MAX_PER_TASK, DueFiring
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.contracts.backend import Backend, BackendContract

HOURLY = ScheduleRule(every_s=3600.0)


async def kept_task(backend: Backend, name: str = "task") -> tuple[int, Plan]:
    """Save a task. Return its id and the plan of its runs."""
    plan = plan_of("start", name=name)
    task = await backend.tasks.create(TaskSpec(plan.name, plan.spec, plan.spec_hash), actor="ann")
    return task.id, plan


async def due_now(backend: Backend, rule: ScheduleRule = HOURLY) -> tuple[ScheduleRecord, DueFiring]:
    """Return a schedule that is due, with the firing to record."""
    task_id, plan = await kept_task(backend)
    now = backend.clock.now()
    schedule = await backend.schedules.add(task_id, rule, actor="ann", next_fire_at=now)
    return schedule, DueFiring(schedule.id, now, "started", plan=plan, version=1, next_fire_at=now + 3600.0)


async def leading(backend: Backend) -> int:
    """Acquire leadership and return the epoch."""
    term = await backend.leadership.take("keeper", 1e6)
    assert term is not None
    return term.epoch


class ScheduleStoreContract(BackendContract):
    """Every scheduled time fires once, by the leader only."""

    async def test_a_firing_makes_a_run_and_moves_the_schedule_on(self, backend: Backend) -> None:
        """Schedules 1, 3."""
        schedule, due = await due_now(backend)
        firing = await backend.schedules.fire(due, epoch=await leading(backend))
        assert firing is not None
        assert (firing.outcome, firing.fire_at) == ("started", due.fire_at)
        assert firing.run_id is not None
        run = await backend.store.get_run(firing.run_id)
        assert (run.state, run.task_version) == ("queued", 1)
        assert (await backend.schedules.get(schedule.id)).next_fire_at == due.next_fire_at
        assert await backend.schedules.due() == []
        assert await backend.schedules.firings(schedule.id) == [firing]
        made = [entry[:3] for entry in await audit_rows(backend) if entry[1] == "run.created"]
        assert made == [(f"schedule:{schedule.id}", "run.created", f"run:{run.id}")]

    async def test_a_time_is_fired_once_whoever_fires(self, backend: Backend) -> None:
        """Schedules 1: several processes with the same idea."""
        _, due = await due_now(backend)
        epoch = await leading(backend)
        others = [backend, await backend.another(), await backend.another()]
        fired = await asyncio.gather(*(each.schedules.fire(due, epoch=epoch) for each in others * 3))
        assert len([one for one in fired if one is not None]) == 1
        assert len(await backend.store.find_runs()) == 1

    async def test_who_does_not_lead_fires_nothing(self, backend: Backend) -> None:
        """Schedules 2."""
        schedule, due = await due_now(backend)
        epoch = await leading(backend)
        await backend.leadership.resign("keeper")
        await backend.leadership.take("another", 10.0)
        firing = await backend.schedules.fire(due, epoch=epoch + 1)
        assert firing is not None
        late = DueFiring(schedule.id, due.fire_at + 1, "skipped", next_fire_at=None)
        before = await audit_rows(backend)
        for act in (
            backend.schedules.fire(late, epoch=epoch),
            backend.schedules.postpone(schedule.id, 1e12, epoch=epoch),
            backend.schedules.retry(firing, epoch=epoch, reason=""),
            backend.schedules.unwatch(firing, epoch=epoch),
        ):
            with pytest.raises(LeadershipLost):
                await act
        assert await backend.schedules.firings(schedule.id) == [firing]
        assert (await backend.schedules.get(schedule.id)).run_at == due.next_fire_at
        assert await audit_rows(backend) == before

    async def test_a_run_that_must_be_the_only_one_is_not_made_beside_another(self, backend: Backend) -> None:
        """Schedules 1, 3: nothing of the firing is left."""
        schedule, due = await due_now(backend)
        assert due.plan is not None
        other = await backend.store.create_run(due.plan)
        alone = DueFiring(schedule.id, due.fire_at, "started", plan=due.plan, version=1, is_only=True)
        epoch = await leading(backend)
        with pytest.raises(Conflict, match=f"run {other.id}"):
            await backend.schedules.fire(alone, epoch=epoch)
        assert await backend.schedules.firings(schedule.id) == []
        assert [one.id for one in await backend.schedules.due()] == [schedule.id]
        await backend.store.set_state(other.id, "cancelled")
        assert await backend.schedules.fire(alone, epoch=epoch) is not None

    async def test_a_firing_may_end_other_runs(self, backend: Backend) -> None:
        """Schedules 3: in the same transaction; a run that has ended meanwhile stays as it is."""
        schedule, due = await due_now(backend)
        assert due.plan is not None
        old = [await backend.store.create_run(due.plan) for _ in range(2)]
        await backend.store.set_state(old[0].id, "cancelled", "by hand")
        ending = DueFiring(
            *(schedule.id, due.fire_at, "started"),
            plan=due.plan,
            version=1,
            cancels=[run.id for run in old],
            is_only=True,
        )
        firing = await backend.schedules.fire(ending, epoch=await leading(backend))
        assert firing is not None
        assert [(await backend.store.get_run(run.id)).state for run in old] == ["cancelled", "cancelled"]
        assert (await backend.store.get_run(old[0].id)).reason == "by hand"
        assert (await backend.store.get_run(old[1].id)).counters.open == 0
        assert firing.run_id not in [run.id for run in old]

    async def test_a_firing_without_a_run_is_kept_as_well(self, backend: Backend) -> None:
        """Schedules 1."""
        schedule, due = await due_now(backend)
        skipped = DueFiring(schedule.id, due.fire_at, "skipped", "run 5 is running", next_fire_at=None)
        firing = await backend.schedules.fire(skipped, epoch=await leading(backend))
        assert firing is not None
        assert (firing.outcome, firing.reason, firing.run_id) == ("skipped", "run 5 is running", None)
        assert (await backend.schedules.get(schedule.id)).next_fire_at is None
        assert await backend.schedules.due() == []

    async def test_changes_by_people_are_told(self, backend: Backend) -> None:
        """Schedules 3; what changes nothing is not."""
        task_id, _ = await kept_task(backend)
        schedule = await backend.schedules.add(task_id, HOURLY, actor="ann", next_fire_at=5.0)
        daily = ScheduleRule(cron="@daily", timezone="Europe/Berlin")
        for rule in (daily, daily):
            await backend.schedules.change(
                schedule.id, rule, actor="bob", is_enabled=False, next_fire_at=None
            )
        await backend.schedules.delete(schedule.id, actor="ann")
        entries = [
            (actor, action, detail)
            for actor, action, subject, detail in await audit_rows(backend)
            if subject == f"schedule:{schedule.id}"
        ]
        assert [entry[:2] for entry in entries] == [
            ("ann", "schedule.created"),
            ("bob", "schedule.changed"),
            ("ann", "schedule.deleted"),
        ]
        assert entries[1][2] == {
            "from": {"rule": {"every_s": 3600.0}, "enabled": True},
            "to": {"rule": {"cron": "@daily", "timezone": "Europe/Berlin"}, "enabled": False},
        }
        with pytest.raises(NotFound):
            await backend.schedules.get(schedule.id)

    async def test_due_schedules_come_in_the_order_they_are_due(self, backend: Backend) -> None:
        """Schedules 4: those switched off, not due yet, or never due again are left out."""
        task_id, _ = await kept_task(backend)
        now = backend.clock.now()
        ids = [
            (await backend.schedules.add(task_id, HOURLY, actor="ann", next_fire_at=at, is_enabled=on)).id
            for at, on in ((now - 1, True), (now - 3, True), (now - 5, False), (now + 1, True), (None, True))
        ]
        assert [one.id for one in await backend.schedules.due()] == [ids[1], ids[0]]
        assert [one.id for one in await backend.schedules.due(limit=1)] == [ids[1]]
        await backend.schedules.postpone(ids[1], now + 5, epoch=await leading(backend))
        assert [one.id for one in await backend.schedules.due()] == [ids[0]]
        assert (await backend.schedules.get(ids[1])).next_fire_at == now - 3
        await backend.clock.advance(5.0)
        await backend.leadership.take("keeper", 1e6)
        assert [one.id for one in await backend.schedules.due()] == [ids[0], ids[3], ids[1]]

    async def test_a_deleted_task_takes_its_schedules_with_it(self, backend: Backend) -> None:
        """Schedules 5; a firing that was about to come makes nothing."""
        schedule, due = await due_now(backend)
        other, _ = await kept_task(backend, "other")
        await backend.schedules.add(other, HOURLY, actor="ann", next_fire_at=None)
        await backend.tasks.delete(schedule.task_id, actor="ann")
        assert [one.task_id for one in await backend.schedules.find()] == [other]
        assert await backend.schedules.fire(due, epoch=await leading(backend)) is None
        with pytest.raises(NotFound):
            await backend.schedules.add(schedule.task_id, HOURLY, actor="ann", next_fire_at=None)

    async def test_jitter_is_the_same_whenever_it_is_asked_for(self, backend: Backend) -> None:
        """Schedules 6."""
        task_id, _ = await kept_task(backend)
        rule = ScheduleRule(every_s=3600.0, jitter_s=600.0)
        delays = []
        for at in (1000.0, 2000.0, 1000.0):
            schedule = await backend.schedules.add(task_id, rule, actor="ann", next_fire_at=at)
            assert schedule.run_at is not None
            delays.append(schedule.run_at - at)
            again = await backend.schedules.change(
                schedule.id, HOURLY, actor="ann", is_enabled=True, next_fire_at=at
            )
            assert again.run_at == at
            again = await backend.schedules.change(
                schedule.id, rule, actor="ann", is_enabled=True, next_fire_at=at
            )
            assert again.run_at == schedule.run_at
        assert len(set(delays)) == 3
        assert all(0 <= delay <= 600.0 for delay in delays)

    async def test_a_failed_firing_is_tried_as_often_as_its_rule_says(self, backend: Backend) -> None:
        """Schedules 7: each attempt counts once, by any process."""
        _, due = await due_now(backend, ScheduleRule(every_s=3600.0, retries=2))
        epoch = await leading(backend)
        firing = await backend.schedules.fire(due, epoch=epoch)
        assert firing is not None
        assert firing.run_id is not None
        assert await backend.schedules.watched() == []
        await backend.store.set_state(firing.run_id, "cancelled")
        assert await backend.schedules.watched() == [firing]
        other = await backend.another()
        again = await asyncio.gather(
            *(
                each.schedules.retry(firing, epoch=epoch, reason="again", plan=due.plan, version=1)
                for each in (backend, other)
            ),
            return_exceptions=True,
        )
        (tried,) = [one for one in again if one is not None and not isinstance(one, Exception)]
        assert not isinstance(tried, BaseException)
        assert (tried.tries, tried.reason) == (1, "again")
        assert tried.run_id is not None
        assert tried.run_id != firing.run_id
        assert len(await backend.store.find_runs()) == 2
        assert await backend.schedules.watched() == []
        await backend.store.set_state(tried.run_id, "cancelled")
        counted = await backend.schedules.retry(tried, epoch=epoch, reason="once more")
        assert counted is not None
        assert (counted.tries, counted.run_id) == (2, tried.run_id)
        await backend.schedules.unwatch(counted, epoch=epoch)
        assert await backend.schedules.watched() == []

    async def test_without_retries_nothing_is_watched(self, backend: Backend) -> None:
        """Schedules 7; one whose run was deleted is looked at, so that it can be let be."""
        _, due = await due_now(backend)
        epoch = await leading(backend)
        firing = await backend.schedules.fire(due, epoch=epoch)
        assert firing is not None
        assert firing.run_id is not None
        await backend.store.set_state(firing.run_id, "cancelled")
        assert await backend.schedules.watched() == []
        rule = ScheduleRule(every_s=60.0, retries=1)
        changed = await backend.schedules.change(
            firing.schedule_id, rule, actor="ann", is_enabled=True, next_fire_at=due.fire_at + 1
        )
        second = await backend.schedules.fire(
            DueFiring(changed.id, due.fire_at + 1, "started", plan=due.plan, version=1), epoch=epoch
        )
        assert second is not None
        assert second.run_id is not None
        await backend.store.set_state(second.run_id, "cancelled")
        await backend.store.delete_run(second.run_id)
        assert await backend.schedules.watched() == [second]

    async def test_a_run_by_hand_leaves_the_times_as_they_are(self, backend: Backend) -> None:
        """Schedules 1, 3."""
        schedule, due = await due_now(backend)
        assert due.plan is not None
        firing = await backend.schedules.fire_now(schedule.id, due.plan, version=1, actor="bob", is_only=True)
        assert (firing.outcome, firing.reason) == ("started", "by bob")
        assert await backend.schedules.get(schedule.id) == schedule
        await backend.clock.advance(0.1)
        with pytest.raises(Conflict):
            await backend.schedules.fire_now(schedule.id, due.plan, version=1, actor="bob", is_only=True)
        beside = await backend.schedules.fire_now(
            schedule.id, due.plan, version=1, actor="bob", is_only=False
        )
        assert beside.run_id != firing.run_id
        assert [entry[0] for entry in await audit_rows(backend) if entry[1] == "schedule.fired"] == [
            "bob",
            "bob",
        ]

    async def test_schedules_and_firings_are_listed_by_cursors(self, backend: Backend) -> None:
        """Schedules 4."""
        one, two = (await kept_task(backend))[0], (await kept_task(backend, "other"))[0]
        ids = [
            (await backend.schedules.add(task, HOURLY, actor="ann", next_fire_at=1.0)).id
            for task in (one, two, one, two, one)
        ]
        pages = [await backend.schedules.find(limit=2)]
        while pages[-1]:
            pages.append(await backend.schedules.find(after=pages[-1][-1].id, limit=2))
        assert [found.id for page in pages for found in page] == ids
        assert [found.id for found in await backend.schedules.find(task_id=two)] == [ids[1], ids[3]]
        assert [found.id for found in await backend.schedules.find(task_id=one, after=ids[0], limit=1)] == [
            ids[2]
        ]
        epoch = await leading(backend)
        for at in (10.0, 20.0, 30.0):
            await backend.schedules.fire(DueFiring(ids[0], at, "missed", next_fire_at=at + 10), epoch=epoch)
        assert [one.fire_at for one in await backend.schedules.firings(ids[0], limit=2)] == [30.0, 20.0]
        assert [one.fire_at for one in await backend.schedules.firings(ids[0], before=20.0)] == [10.0]
        assert await backend.schedules.firings(ids[1]) == []
        with pytest.raises(NotFound):
            await backend.schedules.firings(99)

    async def test_a_task_has_one_schedule_of_its_own_and_not_too_many(self, backend: Backend) -> None:
        """Schedules 4."""
        task_id, _ = await kept_task(backend)
        assert await backend.schedules.of_task(task_id) is None
        own = await backend.schedules.add(task_id, HOURLY, actor="ann", next_fire_at=1.0, is_of_task=True)
        assert await backend.schedules.of_task(task_id) == own
        with pytest.raises(Conflict):
            await backend.schedules.add(task_id, HOURLY, actor="ann", next_fire_at=1.0, is_of_task=True)
        for _ in range(MAX_PER_TASK - 1):
            await backend.schedules.add(task_id, HOURLY, actor="ann", next_fire_at=1.0)
        with pytest.raises(NotAllowed):
            await backend.schedules.add(task_id, HOURLY, actor="ann", next_fire_at=1.0)

    async def test_only_the_newest_firings_are_kept(self, backend: Backend) -> None:
        """Schedules 4."""
        schedule, _ = await due_now(backend)
        epoch = await leading(backend)
        for at in range(KEPT_FIRINGS + 5):
            await backend.schedules.fire(
                DueFiring(schedule.id, float(at), "missed", next_fire_at=at + 1.0), epoch=epoch
            )
        kept = await backend.schedules.firings(schedule.id, limit=10_000)
        assert len(kept) == KEPT_FIRINGS
        assert kept[0].fire_at == KEPT_FIRINGS + 4

    async def test_what_is_due_next_is_known_by_schedule_and_by_task(self, backend: Backend) -> None:
        """Schedules 4: the earliest first; disabled ones are not due."""
        (one, _), (two, _) = await kept_task(backend, "one"), await kept_task(backend, "two")
        now = backend.clock.now()
        add = backend.schedules.add
        late = await add(one, HOURLY, actor="ann", next_fire_at=now + 90.0)
        soon = await add(one, HOURLY, actor="ann", next_fire_at=now + 60.0)
        await add(two, HOURLY, actor="ann", next_fire_at=now + 30.0, is_enabled=False)
        assert [schedule.id for schedule in await backend.schedules.next_due()] == [soon.id, late.id]
        assert await backend.schedules.next_times([one, two]) == {one: now + 60.0}

    async def test_a_missed_firing_is_found_by_its_time(self, backend: Backend) -> None:
        """Schedules 4: those that started no run although they should have."""
        schedule, due = await due_now(backend)
        epoch, now = await leading(backend), backend.clock.now()
        missed = DueFiring(schedule.id, now - 60.0, "missed", "nobody led", next_fire_at=now)
        await backend.schedules.fire(missed, epoch=epoch)
        await backend.schedules.fire(due, epoch=epoch)
        assert [one.reason for one in await backend.schedules.troubled(now - 1.0)] == ["nobody led"]
        assert await backend.schedules.troubled(now + 1.0) == []
