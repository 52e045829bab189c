"""The contract of `store/tasks.py`; tests name the promise they check."""

from __future__ import annotations

import asyncio

import pytest

from smartspider.core.errors import Conflict, NotAllowed, NotFound
from smartspider.core.runs.run import RunState
from smartspider.core.tasks import TaskOrder, TaskRecord, TaskSpec
from smartspider.store.tasks import TaskFilter
from smartspider_testing.contracts.access.audit import audit_rows
from smartspider_testing.contracts.actions import begin, plan_of
from smartspider_testing.contracts.backend import Backend, BackendContract


def spec_of(name: str = "shop", number: int = 1) -> TaskSpec:
    """Return the n-th variant of a task's spec."""
    return TaskSpec(name, b'{"n":%d}' % number, f"hash {number}")


async def changed(backend: Backend, times: int, name: str = "shop") -> TaskRecord:
    """Return a task with `times` versions."""
    task = await backend.tasks.create(spec_of(name), actor="ann")
    for number in range(2, times + 1):
        task = await backend.tasks.change(task.id, spec_of(name, number), actor="bob", note=f"the {number}.")
    return task


NEWEST: dict[str, RunState] = {"Shop_a": "running", "my_shop": "running", "shop%": "paused"}


async def listed(backend: Backend, only: TaskFilter, order: TaskOrder) -> list[str]:
    """Return the names of all tasks that match, read in steps of two."""
    found: list[TaskRecord] = []
    while page := await backend.tasks.find(
        only, order, after=(found[-1].name if "name" in order else found[-1].id) if found else None, limit=2
    ):
        found += page
    return [one.name for one in found]


class TaskStoreContract(BackendContract):
    """A task store keeps tasks with all their versions."""

    async def test_a_task_is_found_by_its_id_and_its_name(self, backend: Backend) -> None:
        """Task store 1."""
        task = await backend.tasks.create(spec_of(), actor="ann", note="why not")
        now = backend.clock.now()
        assert task == TaskRecord(task.id, "shop", "ann", now, now, 1, None)
        await backend.reopen()
        assert await backend.tasks.get(task.id) == await backend.tasks.get("shop") == task
        first = await backend.tasks.version(task.id, 1)
        assert (first.spec, first.spec_hash, first.author, first.created_at, first.note) == (
            *(b'{"n":1}', "hash 1", "ann", now, "why not"),
        )

    async def test_what_is_not_there_is_not_found(self, backend: Backend) -> None:
        """Task store 1: nothing is made by asking."""
        task = await changed(backend, 2)
        for unknown in (task.id + 1, "other", str(task.id)):
            with pytest.raises(NotFound):
                await backend.tasks.get(unknown)
        for number in (0, 3):
            with pytest.raises(NotFound, match="no version"):
                await backend.tasks.version(task.id, number)
        with pytest.raises(NotFound):
            await backend.tasks.versions(task.id + 1)
        with pytest.raises(NotFound):
            await backend.tasks.change(task.id + 1, spec_of(), actor="ann")
        with pytest.raises(NotFound):
            await backend.tasks.delete(task.id + 1, actor="ann")

    async def test_a_name_is_taken_once(self, backend: Backend) -> None:
        """Task store 1, 5: a second one is refused and leaves no trace."""
        task = await backend.tasks.create(spec_of(), actor="ann")
        with pytest.raises(Conflict, match="a task 'shop' already exists"):
            await backend.tasks.create(spec_of(number=2), actor="bob")
        assert await backend.tasks.find() == [task]
        assert len(await backend.audit.entries()) == 1

    async def test_names_that_differ_only_in_case_are_the_same(self, backend: Backend) -> None:
        """Task store 1."""
        await backend.tasks.create(spec_of("Shop_A"), actor="ann")
        with pytest.raises(Conflict, match="'Shop_A' already exists, and 'shop_a' differs only in upper and"):
            await backend.tasks.create(spec_of("shop_a"), actor="ann")
        assert (await backend.tasks.create(spec_of("shopXa"), actor="ann")).name == "shopXa"

    async def test_of_two_who_create_at_once_one_succeeds(self, backend: Backend) -> None:
        """Task store 1: also from two processes."""
        other = await backend.another()
        made = await asyncio.gather(
            *(each.tasks.create(spec_of(), actor="ann") for each in (backend, other, backend, other)),
            return_exceptions=True,
        )
        assert sorted(type(one).__name__ for one in made) == ["Conflict"] * 3 + ["TaskRecord"]

    async def test_a_task_keeps_its_name(self, backend: Backend) -> None:
        """Task store 1."""
        task = await backend.tasks.create(spec_of(), actor="ann")
        with pytest.raises(NotAllowed, match="'other'"):
            await backend.tasks.change(task.id, spec_of("other"), actor="ann")
        assert await backend.tasks.get("shop") == task

    async def test_a_change_is_a_new_version_and_the_old_ones_stay(self, backend: Backend) -> None:
        """Task store 2."""
        first = await changed(backend, 1)
        await backend.clock.advance(60.0)
        task = await backend.tasks.change(first.id, spec_of(number=2), actor="bob", note="better")
        assert (task.version, task.owner, task.created_at) == (2, "ann", first.created_at)
        assert task.updated_at == backend.clock.now() == first.created_at + 60.0
        versions = await backend.tasks.versions(task.id)
        assert [(one.number, one.author, one.note, one.spec) for one in versions] == [
            (2, "bob", "better", b'{"n":2}'),
            (1, "ann", "", b'{"n":1}'),
        ]
        assert await backend.tasks.version(task.id, 1) == versions[1]

    async def test_the_same_spec_makes_no_version(self, backend: Backend) -> None:
        """Task store 2, 5: neither a version nor an entry. Going back to an old one is a new version."""
        task = await changed(backend, 2)
        entries = await backend.audit.entries()
        assert await backend.tasks.change(task.id, spec_of(number=2), actor="eve") == task
        assert await backend.audit.entries() == entries
        assert (await backend.tasks.change(task.id, spec_of(number=1), actor="eve")).version == 3

    async def test_the_order_of_fields_is_part_of_a_spec(self, backend: Backend) -> None:
        """Task store 2: it is the order of columns, which the hash does not tell."""
        task = await backend.tasks.create(TaskSpec("shop", b'{"a":1,"b":2}', "same"), actor="ann")
        task = await backend.tasks.change(task.id, TaskSpec("shop", b'{"b":2,"a":1}', "same"), actor="ann")
        assert task.version == 2

    @pytest.mark.parametrize("number", [1, 2])
    async def test_a_change_of_what_is_no_longer_the_newest_is_refused(
        self, backend: Backend, number: int
    ) -> None:
        """Task store 3: also when it would change nothing."""
        task = await changed(backend, 2)
        for stale in (0, 1, 3):
            with pytest.raises(Conflict, match=f"has version 2 now, not {stale}"):
                await backend.tasks.change(
                    task.id, spec_of(number=number), actor="eve", expected_version=stale
                )
        assert await backend.tasks.get(task.id) == task
        after = await backend.tasks.change(task.id, spec_of(number=3), actor="eve", expected_version=2)
        assert after.version == 3

    async def test_of_two_who_change_at_once_one_succeeds(self, backend: Backend) -> None:
        """Task store 3: no concurrent change is lost."""
        task = await changed(backend, 1)
        other = await backend.another()
        done = await asyncio.gather(
            backend.tasks.change(task.id, spec_of(number=2), actor="ann", expected_version=1),
            other.tasks.change(task.id, spec_of(number=3), actor="bob", expected_version=1),
            return_exceptions=True,
        )
        assert sorted(type(one).__name__ for one in done) == ["Conflict", "TaskRecord"]
        assert (await backend.tasks.get(task.id)).version == 2

    async def test_a_deleted_task_frees_its_name_and_leaves_its_versions(self, backend: Backend) -> None:
        """Task store 4."""
        task = await changed(backend, 2)
        gone = await backend.tasks.delete(task.id, actor="eve")
        assert (gone.is_deleted, gone.deleted_at, gone.version) == (True, backend.clock.now(), 2)
        assert await backend.tasks.get(task.id) == gone
        assert [one.number for one in await backend.tasks.versions(task.id)] == [2, 1]
        with pytest.raises(NotFound):
            await backend.tasks.get("shop")
        with pytest.raises(NotFound, match="is deleted"):
            await backend.tasks.change(task.id, spec_of(number=3), actor="eve")
        with pytest.raises(NotFound, match="is deleted"):
            await backend.tasks.delete(task.id, actor="eve")
        again = await backend.tasks.create(spec_of(), actor="ann")
        assert again.id > task.id
        assert await backend.tasks.find() == [again]

    async def test_a_task_with_an_unfinished_run_is_not_deleted(self, backend: Backend) -> None:
        """Task store 4: and a run of one that is deleted is not opened again."""
        run = await backend.store.create_run(plan_of(name="shop"))
        with pytest.raises(Conflict, match=f"run {run.id} of the task 'shop' is queued"):
            await backend.tasks.delete(run.task_id, actor="ann")
        await backend.store.set_state(run.id, "running")
        await backend.store.set_state(run.id, "completed")
        await backend.tasks.delete(run.task_id, actor="ann")
        with pytest.raises(NotAllowed, match="is deleted"):
            await backend.store.set_state(run.id, "running")
        assert (await backend.store.get_run(run.id)).state == "completed"

    async def test_every_write_is_told_once_with_who_did_it(self, backend: Backend) -> None:
        """Task store 5."""
        task = await changed(backend, 2)
        await backend.tasks.delete(task.id, actor="eve")
        subject = f"task:{task.id}"
        of = {"name": "shop", "version": 1, "spec_hash": "hash 1"}
        assert await audit_rows(backend) == [
            ("ann", "task.created", subject, of),
            ("bob", "task.changed", subject, of | {"version": 2, "spec_hash": "hash 2", "note": "the 2."}),
            ("eve", "task.deleted", subject, {"name": "shop", "version": 2}),
        ]

    async def test_tasks_are_listed_by_a_cursor(self, backend: Backend) -> None:
        """Task store 6: new and deleted ones on the way neither skip nor repeat another."""
        made = [await backend.tasks.create(spec_of(f"t{number}"), actor="ann") for number in range(7)]
        first = await backend.tasks.find(limit=3)
        await backend.tasks.delete(made[1].id, actor="ann")
        await backend.tasks.delete(made[3].id, actor="ann")
        new = await backend.tasks.create(spec_of("new"), actor="ann")
        rest = await backend.tasks.find(after=first[-1].id)
        assert [one.name for one in (*first, *rest)] == ["t0", "t1", "t2", "t4", "t5", "t6", "new"]
        assert await backend.tasks.find(after=new.id) == []

    async def test_tasks_whose_names_begin_alike_are_listed_by_name(self, backend: Backend) -> None:
        """Task store 6: capitals are other letters, and no letter of a prefix stands for another."""
        for name in ("shop_b", "shop_a", "shöp", "Shop_c", "sho", "shop%", "shop_aa", "other", "shop_gone"):
            task = await backend.tasks.create(spec_of(name), actor="ann")
        await backend.tasks.delete(task.id, actor="ann")
        shop = TaskFilter(prefix="shop")
        names = ["shop%", "shop_a", "shop_aa", "shop_b"]
        assert await listed(backend, shop, "name") == names
        assert await listed(backend, shop, "-name") == names[::-1]
        assert await listed(backend, TaskFilter(prefix="shop_"), "name") == names[1:]
        assert await listed(backend, TaskFilter(prefix="x"), "name") == []
        for after in ("a", "shop_b", "z"):  # a cursor of another list skips, and shows nothing else
            found = await backend.tasks.find(shop, "name", after=after)
            assert [one.name for one in found] == [name for name in names if name > after]
            found = await backend.tasks.find(shop, "-name", after=after)
            assert [one.name for one in found] == [name for name in names[::-1] if name < after]

    async def test_tasks_are_found_by_all_conditions_in_each_order(self, backend: Backend) -> None:
        """Task store 6: a part of a name has no wildcards, and the newest run decides about a state."""
        owners = {"Shop_a": "ann", "my_shop": "bob", "shop%": "ann", "ÄRZTE": "ann", "shopping": "ann"}
        for name, owner in owners.items():
            await backend.tasks.create(spec_of(name), actor=owner)
        for name, then in NEWEST.items():
            finished = await begin(backend, name=name)
            await backend.store.set_state(finished.id, "failed")
            newest = await begin(backend, name=name)
            if then != newest.state:
                await backend.store.set_state(newest.id, then)
        shops = ["Shop_a", "my_shop", "shop%", "shopping"]
        for only, names in (
            (TaskFilter(), list(owners)),
            (TaskFilter(q="sHop"), shops),
            (TaskFilter(q="%"), ["shop%"]),
            (TaskFilter(q="p_"), ["Shop_a"]),
            (TaskFilter(q="ÄRZ"), ["ÄRZTE"]),
            (TaskFilter(owner="ann"), ["Shop_a", "shop%", "ÄRZTE", "shopping"]),
            (TaskFilter(state="running"), ["Shop_a", "my_shop"]),
            (TaskFilter(state="paused"), ["shop%"]),
            (TaskFilter(state="failed"), []),
            (TaskFilter(q="shop", owner="ann", state="running"), ["Shop_a"]),
            (TaskFilter(prefix="shop", q="g"), ["shopping"]),
        ):
            assert await listed(backend, only, "created") == names
            assert await listed(backend, only, "-created") == names[::-1]
            assert await listed(backend, only, "name") == sorted(names)
            assert await listed(backend, only, "-name") == sorted(names)[::-1]

    async def test_versions_are_listed_newest_first_by_a_cursor(self, backend: Backend) -> None:
        """Task store 6."""
        task = await changed(backend, 5)
        await changed(backend, 2, "other")
        pages = [await backend.tasks.versions(task.id, limit=2)]
        while pages[-1]:
            pages.append(await backend.tasks.versions(task.id, before=pages[-1][-1].number, limit=2))
        assert [[one.number for one in page] for page in pages] == [[5, 4], [3, 2], [1], []]
