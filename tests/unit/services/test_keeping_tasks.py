"""Tasks applied by name, their history, and what is told of the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from smartspider.core.audit import AuditEntry, Break, Head
from smartspider.core.errors import Conflict, NotFound, TaskInvalid
from smartspider.core.tasks import TaskRecord, TaskSpec
from smartspider.interfaces.audit_log import AuditCheck
from smartspider.services.audit import told, told_check
from smartspider.services.checking import check_task
from smartspider.services.tasks import apply, compare, history
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.testing.clock import ManualClock
from smartspider.testing.sqlite import SqliteGround

TASK = {"name": "shop", "entry_urls": ["https://a.example/"]}


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteGround]:
    ground = SqliteGround(tmp_path / "data", ManualClock())
    yield ground
    await ground.close()


def spec_of(number: int) -> TaskSpec:
    return TaskSpec("shop", b'{"n":%d}' % number, f"hash {number}")


async def test_applying_creates_then_changes_then_leaves_alone(ground: SqliteGround) -> None:
    applied = [await apply(ground.tasks, spec_of(number), actor="ann") for number in (1, 2, 2)]
    assert [(one.status, one.task.version) for one in applied] == [
        ("created", 1),
        ("changed", 2),
        ("unchanged", 2),
    ]
    assert [[change.path for change in one.changes] for one in applied] == [[], ["n"], []]


async def test_applying_goes_on_when_somebody_was_faster(ground: SqliteGround) -> None:
    """Between looking and writing, the task was created, changed or deleted by another."""
    store = ground.tasks
    look = store.get
    raced: list[int | str] = []

    async def raced_get(task: int | str) -> TaskRecord:
        try:
            return await look(task)
        finally:
            if len(raced) < 3:
                raced.append(task)
                if len(raced) == 1:
                    await store.create(spec_of(7), actor="bob")
                elif len(raced) == 2:
                    await store.change(1, spec_of(8), actor="bob")
                else:
                    await store.delete(1, actor="bob")

    store.get = raced_get  # type: ignore[method-assign] # another one writes in between
    applied = await apply(store, spec_of(2), actor="ann")
    assert (applied.status, applied.task.id, applied.task.version) == ("created", 2, 1)
    assert len(raced) == 3


async def test_applying_gives_up_when_others_are_always_faster(ground: SqliteGround) -> None:
    async def never(*_: object, **__: object) -> TaskRecord:
        raise Conflict("somebody was faster")

    await ground.tasks.create(spec_of(1), actor="ann")
    ground.tasks.change = never  # type: ignore[method-assign] # somebody is always faster
    with pytest.raises(Conflict, match="by others all the time"):
        await apply(ground.tasks, spec_of(2), actor="ann")


async def test_a_note_has_an_end(ground: SqliteGround) -> None:
    with pytest.raises(TaskInvalid, match="1001 characters"):
        await apply(ground.tasks, spec_of(1), actor="ann", note="x" * 1001)
    assert await ground.tasks.find() == []
    await apply(ground.tasks, spec_of(1), actor="ann", note="x" * 1000)


async def test_the_history_tells_what_each_version_changed(ground: SqliteGround) -> None:
    for number in (1, 2, 1):
        applied = await apply(ground.tasks, spec_of(number), actor="ann")
    revisions = await history(ground.tasks, applied.task)
    assert [
        (one.version.number, [(change.before, change.after) for change in one.changes]) for one in revisions
    ] == [(3, [(2, 1)]), (2, [(1, 2)]), (1, [])]
    assert await history(ground.tasks, applied.task, limit=2) == revisions[:2]
    assert await history(ground.tasks, applied.task, before=3, limit=1) == revisions[1:2]
    assert await history(ground.tasks, applied.task, before=2) == revisions[2:]


async def test_versions_are_compared_with_the_one_before_or_as_asked(ground: SqliteGround) -> None:
    task = (await apply(ground.tasks, spec_of(1), actor="ann")).task
    with pytest.raises(NotFound, match="no version before 1"):
        await compare(ground.tasks, task)
    for number in (2, 3):
        task = (await apply(ground.tasks, spec_of(number), actor="ann")).task
    asked = [(None, None), (1, None), (1, 2), (3, 1), (2, 2)]
    found = [await compare(ground.tasks, task, before, after) for before, after in asked]
    assert [(one.before.number, one.after.number) for one in found] == [
        (2, 3),
        (1, 3),
        (1, 2),
        (3, 1),
        (2, 2),
    ]
    assert [len(one.changes) for one in found] == [1, 1, 1, 1, 0]
    with pytest.raises(NotFound, match="has no version 9"):
        await compare(ground.tasks, task, 9)


def test_what_is_kept_is_what_is_run() -> None:
    task = parse_task(TASK | {"limits": {"max_pages": 3}})
    plan, checked = compile_task(task), check_task(task)
    assert checked.spec == TaskSpec(plan.name, plan.spec, plan.spec_hash)
    assert checked.missing == []


def test_a_task_that_this_version_cannot_run_may_be_kept() -> None:
    checked = check_task(parse_task(TASK | {"archive": {"warc": True}}))
    assert [problem.path for problem in checked.missing] == ["archive.warc"]
    assert msgspec.json.decode(checked.spec.spec)["archive"] == {"warc": True}


def test_a_task_whose_rules_cannot_work_may_not() -> None:
    with pytest.raises(TaskInvalid):
        check_task(parse_task(TASK | {"selectors": {"fields": {"a": {"type": "xpath", "expr": "//["}}}}))


def test_an_entry_is_told_even_when_somebody_spoiled_it() -> None:
    entry = AuditEntry(3, 0.0, "ann", "task.created", "task:1", b'{"a":1}', "0", "1")
    shown = told(entry)
    assert (shown.id, shown.at, shown.detail) == ("3", "1970-01-01T00:00:00.000Z", {"a": 1})
    spoiled = msgspec.structs.replace(entry, at=1e300, actor="\udcff", detail=b"{\xff")
    shown = told(spoiled)
    assert (shown.at, shown.actor, shown.detail) == ("1e+300", "?", "{�")
    assert msgspec.json.encode(shown)


def test_a_check_is_told_with_the_entry_that_is_wrong() -> None:
    assert msgspec.structs.astuple(told_check(AuditCheck(Head(2, "h"), None))) == (True, 2, "h", None, "")
    broken = told_check(AuditCheck(Head(2, "h"), Break(3, "is missing")))
    assert msgspec.structs.astuple(broken) == (False, 2, "h", "3", "entry 3 is missing")
