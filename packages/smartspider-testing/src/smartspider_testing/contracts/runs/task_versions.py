"""A run keeps the version of its task, and actions on it are in the audit log."""

from __future__ import annotations

import msgspec
import pytest

from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.runs.plan import Plan
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.audit import AuditFilter
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.actions import begin, done, plan_of, settle, take_one
from smartspider_testing.contracts.backend import Backend, BackendContract


def edited(number: int, **changes: object) -> Plan:
    """Return the plan of the n-th version of a task."""
    spec = b'{"n":%d}' % number
    return msgspec.structs.replace(plan_of(name="shop"), spec=spec, spec_hash=f"hash {number}", **changes)


class TaskVersionContract(BackendContract):
    """Runs refer to task versions and write audit entries."""

    async def test_a_run_has_the_version_of_its_task(self, backend: Backend) -> None:
        """RunStore 11: the same spec is the same version, another one is a new one, also for another run."""
        runs = [await backend.store.create_run(edited(number)) for number in (1, 1, 2, 1)]
        assert [run.task_version for run in runs] == [1, 1, 2, 3]
        assert len({run.task_id for run in runs}) == 1
        assert [await backend.store.get_run(run.id) for run in runs] == runs
        task = await backend.tasks.get("shop")
        assert (task.id, task.version) == (runs[0].task_id, 3)
        for run in runs:
            assert (await backend.tasks.version(task.id, run.task_version)).spec == run.spec

    async def test_a_run_of_a_version_that_is_named_changes_nothing(self, backend: Backend) -> None:
        """RunStore 11: also when it is not the newest."""
        for number in (1, 2):
            await backend.store.create_run(edited(number))
        run = await backend.store.create_run(edited(1), version=1)
        assert (run.task_version, (await backend.tasks.get("shop")).version) == (1, 2)

    async def test_a_run_of_another_version_than_that_named_is_refused(self, backend: Backend) -> None:
        """RunStore 11: nothing is made."""
        run = await backend.store.create_run(edited(1))
        with pytest.raises(Conflict):
            await backend.store.create_run(edited(2), version=1)
        with pytest.raises(NotFound):
            await backend.store.create_run(edited(1), version=2)
        with pytest.raises(NotFound):
            await backend.store.create_run(plan_of(name="other"), version=1)
        assert await backend.store.find_runs() == [run]
        assert [one.name for one in await backend.tasks.find()] == ["shop"]

    async def test_a_run_that_cannot_be_made_leaves_no_version_and_no_entry(self, backend: Backend) -> None:
        """RunStore 1, 11: one transaction."""
        with pytest.raises(NotAllowed):
            await backend.store.create_run(edited(1, entries=()))
        bad = msgspec.structs.replace(plan_of().entries[0], page="\ud800")
        with pytest.raises(UnicodeEncodeError):
            await backend.store.create_run(edited(1, entries=(bad,)))
        assert await backend.tasks.find() == []
        assert await backend.audit.entries() == []

    async def test_after_its_task_is_deleted_a_run_is_what_it_was(self, backend: Backend) -> None:
        """RunStore 11: and the next run of that name is of another task."""
        run = await backend.store.create_run(edited(1))
        run = await backend.store.set_state(run.id, "cancelled")
        await backend.tasks.delete(run.task_id, actor="ann")
        assert await backend.store.get_run(run.id) == run
        assert (await backend.tasks.version(run.task_id, run.task_version)).spec == run.spec
        again = await backend.store.create_run(edited(1))
        assert (again.task_id != run.task_id, again.task_version) == (True, 1)

    async def test_what_people_do_with_runs_is_told(self, backend: Backend) -> None:
        """RunStore 11: once, with who did it; what changes nothing is not."""
        run = await backend.store.create_run(edited(1, overrides=("robots ignored", "no delay")), actor="ann")
        for _ in range(2):
            await backend.store.set_state(run.id, "paused", "lunch", actor="bob")
        with pytest.raises(NotAllowed):
            await backend.store.set_state(run.id, "completed", actor="eve")
        await backend.store.delete_run(run.id, actor="eve")
        subject, of = f"run:{run.id}", {"task": f"task:{run.task_id}", "version": 1}
        assert (await audit_rows(backend))[1:] == [
            ("ann", "run.created", subject, of),
            ("ann", "politeness.overridden", subject, {"what": "robots ignored"}),
            ("ann", "politeness.overridden", subject, {"what": "no delay"}),
            ("bob", "run.state", subject, {"from": "queued", "to": "paused", "reason": "lunch"}),
            ("eve", "run.deleted", subject, of | {"items": 0}),
        ]

    async def test_a_crawl_writes_nothing_into_the_audit(self, backend: Backend) -> None:
        """RunStore 11: neither leasing, nor settling, nor coming to an end."""
        run = await begin(backend, "one")
        before = await backend.audit.entries()
        worker = await backend.frontier.join(WorkerRegistration("w"))
        await settle(backend, done(await take_one(backend, worker, run), items=[{"a": 1}]))
        assert (await backend.store.finish(run.id)).state == "completed"
        assert await backend.audit.entries() == before
        assert await backend.audit.entries(AuditFilter(subject=f"run:{run.id}", action="run.state")) != []
