"""Tasks as they are kept, their history, and what is told of the audit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.audit import AuditEntry, Break, Head
from smartspider.core.errors import NotFound, Outdated, RequestInvalid, TaskInvalid
from smartspider.core.tasks import TaskSpec
from smartspider.interfaces.audit_log import AuditCheck
from smartspider.services.audit import told, told_check
from smartspider.services.checking import check_task
from smartspider.services.tasks import Applied, change, create, history, revision
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider_testing.clock import ManualClock
from smartspider_testing.sqlite import SqliteGround

ANN = Principal("ann", "operator")
TASK = {"name": "shop", "entry_urls": ["https://a.example/"]}


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[SqliteGround]:
    ground = SqliteGround(tmp_path / "data", ManualClock())
    yield ground
    await ground.close()


def spec_of(number: int) -> TaskSpec:
    return TaskSpec("shop", b'{"n":%d}' % number, f"hash {number}")


async def kept(ground: SqliteGround, *numbers: int) -> list[Applied]:
    """Versions of a task, one after the other."""
    first, *later = numbers
    applied = [await create(ground.tasks, spec_of(first), ANN)]
    for number in later:
        applied.append(await change(ground.tasks, applied[-1].task, spec_of(number), ANN))
    return applied


async def test_a_task_is_created_then_changed_then_left_alone(ground: SqliteGround) -> None:
    applied = await kept(ground, 1, 2, 2)
    assert [(one.status, one.task.version) for one in applied] == [
        ("created", 1),
        ("changed", 2),
        ("unchanged", 2),
    ]
    assert [[change.path for change in one.changes] for one in applied] == [[], ["n"], []]


async def test_a_change_of_another_version_than_expected_is_refused(ground: SqliteGround) -> None:
    first, _ = await kept(ground, 1, 2)
    with pytest.raises(Outdated):
        await change(ground.tasks, first.task, spec_of(3), ANN, expected=1)
    assert (await ground.tasks.get("shop")).version == 2


async def test_a_note_has_an_end(ground: SqliteGround) -> None:
    with pytest.raises(RequestInvalid, match="1001 characters"):
        await create(ground.tasks, spec_of(1), ANN, note="x" * 1001)
    assert await ground.tasks.find() == []
    made = await create(ground.tasks, spec_of(1), ANN, note="x" * 1000)
    with pytest.raises(RequestInvalid, match="1001 characters"):
        await change(ground.tasks, made.task, spec_of(2), ANN, note="x" * 1001)


async def test_the_history_tells_what_each_version_changed(ground: SqliteGround) -> None:
    applied = (await kept(ground, 1, 2, 1))[-1]
    revisions = await history(ground.tasks, applied.task)
    assert [
        (one.version.number, [(change.before, change.after) for change in one.changes]) for one in revisions
    ] == [(3, [(2, 1)]), (2, [(1, 2)]), (1, [])]
    assert await history(ground.tasks, applied.task, limit=2) == revisions[:2]
    assert await history(ground.tasks, applied.task, before=3, limit=1) == revisions[1:2]
    assert await history(ground.tasks, applied.task, before=2) == revisions[2:]


async def test_a_version_is_shown_with_what_it_changed(ground: SqliteGround) -> None:
    task = (await kept(ground, 1, 2))[-1].task
    assert [change.path for change in (await revision(ground.tasks, task, 2)).changes] == ["n"]
    assert (await revision(ground.tasks, task, 1)).changes == []
    with pytest.raises(NotFound, match="has no version 9"):
        await revision(ground.tasks, task, 9)


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
