"""A run keeps the version of its task, and what people did with it is in the audit."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.plan import Plan
from smartspider.core.workers import WorkerCard
from smartspider.interfaces.audit_log import AuditFilter
from smartspider_testing.contracts.acts import begin, done, plan_of, settle, take_one
from smartspider_testing.contracts.audit import told
from smartspider_testing.contracts.ground import Ground, OnGround


def edited(number: int, **changes: object) -> Plan:
    """The plan of a task in its n-th form."""
    spec = b'{"n":%d}' % number
    return msgspec.structs.replace(plan_of(name="shop"), spec=spec, spec_hash=f"hash {number}", **changes)


class PinningContract(OnGround):
    """What a store owes to tasks and the audit."""

    async def test_a_run_has_the_version_of_its_task(self, ground: Ground) -> None:
        """Store 11: the same spec is the same version, another one is a new one, also for another run."""
        runs = [await ground.store.create_run(edited(number)) for number in (1, 1, 2, 1)]
        assert [run.task_version for run in runs] == [1, 1, 2, 3]
        assert len({run.task_id for run in runs}) == 1
        assert [await ground.store.get_run(run.id) for run in runs] == runs
        task = await ground.tasks.get("shop")
        assert (task.id, task.version) == (runs[0].task_id, 3)
        for run in runs:
            assert (await ground.tasks.version(task.id, run.task_version)).spec == run.spec

    async def test_a_run_of_a_version_that_is_named_changes_nothing(self, ground: Ground) -> None:
        """Store 11: also when it is not the newest."""
        for number in (1, 2):
            await ground.store.create_run(edited(number))
        run = await ground.store.create_run(edited(1), version=1)
        assert (run.task_version, (await ground.tasks.get("shop")).version) == (1, 2)

    async def test_a_run_of_another_version_than_that_named_is_refused(self, ground: Ground) -> None:
        """Store 11: nothing is made."""
        run = await ground.store.create_run(edited(1))
        with pytest.raises(Conflict):
            await ground.store.create_run(edited(2), version=1)
        with pytest.raises(NotFound):
            await ground.store.create_run(edited(1), version=2)
        with pytest.raises(NotFound):
            await ground.store.create_run(plan_of(name="other"), version=1)
        assert await ground.store.find_runs() == [run]
        assert [one.name for one in await ground.tasks.find()] == ["shop"]

    async def test_a_run_that_cannot_be_made_leaves_no_version_and_no_entry(self, ground: Ground) -> None:
        """Store 1, 11: one transaction."""
        with pytest.raises(NotAllowed):
            await ground.store.create_run(edited(1, entries=()))
        bad = msgspec.structs.replace(plan_of().entries[0], page="\ud800")
        with pytest.raises(UnicodeEncodeError):
            await ground.store.create_run(edited(1, entries=(bad,)))
        assert await ground.tasks.find() == []
        assert await ground.audit.entries() == []

    async def test_after_its_task_is_deleted_a_run_is_what_it_was(self, ground: Ground) -> None:
        """Store 11: and the next run of that name is of another task."""
        run = await ground.store.create_run(edited(1))
        run = await ground.store.set_state(run.id, "cancelled")
        await ground.tasks.delete(run.task_id, actor="ann")
        assert await ground.store.get_run(run.id) == run
        assert (await ground.tasks.version(run.task_id, run.task_version)).spec == run.spec
        again = await ground.store.create_run(edited(1))
        assert (again.task_id != run.task_id, again.task_version) == (True, 1)

    async def test_what_people_do_with_runs_is_told(self, ground: Ground) -> None:
        """Store 11: once, with who did it; what changes nothing is not."""
        run = await ground.store.create_run(edited(1, overrides=("robots ignored", "no delay")), actor="ann")
        for _ in range(2):
            await ground.store.set_state(run.id, "paused", "lunch", actor="bob")
        with pytest.raises(NotAllowed):
            await ground.store.set_state(run.id, "completed", actor="eve")
        await ground.store.delete_run(run.id, actor="eve")
        subject, of = f"run:{run.id}", {"task": f"task:{run.task_id}", "version": 1}
        assert (await told(ground))[1:] == [
            ("ann", "run.created", subject, of),
            ("ann", "politeness.overridden", subject, {"what": "robots ignored"}),
            ("ann", "politeness.overridden", subject, {"what": "no delay"}),
            ("bob", "run.state", subject, {"from": "queued", "to": "paused", "reason": "lunch"}),
            ("eve", "run.deleted", subject, of | {"items": 0}),
        ]

    async def test_a_crawl_writes_nothing_into_the_audit(self, ground: Ground) -> None:
        """Store 11: neither leasing, nor settling, nor coming to an end."""
        run = await begin(ground, "one")
        before = await ground.audit.entries()
        worker = await ground.frontier.join(WorkerCard("w"))
        await settle(ground, done(await take_one(ground, worker, run), items=[{"a": 1}]))
        assert (await ground.store.finish(run.id)).state == "completed"
        assert await ground.audit.entries() == before
        assert await ground.audit.entries(AuditFilter(subject=f"run:{run.id}", action="run.state")) != []
