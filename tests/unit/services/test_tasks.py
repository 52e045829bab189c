"""Tasks: storage, history, and audit entries."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from smartspider.core.access import Principal
from smartspider.core.audit import AuditEntry, AuditHead, ChainBreak
from smartspider.core.errors import NotFound, Outdated, RequestInvalid, TaskInvalid
from smartspider.core.tasks import TaskSpec
from smartspider.services.audit import check_view, entry_view
from smartspider.services.plans import rule_problems
from smartspider.services.tasks.checks import check_task
from smartspider.services.tasks.tasks import Applied, change, create, history, revision
from smartspider.store.audit import AuditCheck
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider_testing.backends.sqlite import SqliteBackend

ANN = Principal("ann", "operator")
TASK = {"name": "shop", "entry_urls": ["https://a.example/"]}


def spec_of(number: int) -> TaskSpec:
    return TaskSpec("shop", b'{"n":%d}' % number, f"hash {number}")


async def kept(backend: SqliteBackend, *numbers: int) -> list[Applied]:
    """Versions of a task, one after the other."""
    first, *later = numbers
    applied = [await create(backend.tasks, spec_of(first), ANN)]
    for number in later:
        applied.append(await change(backend.tasks, applied[-1].task, spec_of(number), ANN))
    return applied


async def test_a_task_is_created_then_changed_then_left_alone(backend: SqliteBackend) -> None:
    applied = await kept(backend, 1, 2, 2)
    assert [(one.status, one.task.version) for one in applied] == [
        ("created", 1),
        ("changed", 2),
        ("unchanged", 2),
    ]
    assert [[change.path for change in one.changes] for one in applied] == [[], ["n"], []]


async def test_a_change_of_another_version_than_expected_is_refused(backend: SqliteBackend) -> None:
    first, _ = await kept(backend, 1, 2)
    with pytest.raises(Outdated):
        await change(backend.tasks, first.task, spec_of(3), ANN, expected=1)
    assert (await backend.tasks.get("shop")).version == 2


async def test_a_note_has_an_end(backend: SqliteBackend) -> None:
    with pytest.raises(RequestInvalid, match="1001 characters"):
        await create(backend.tasks, spec_of(1), ANN, note="x" * 1001)
    assert await backend.tasks.find() == []
    made = await create(backend.tasks, spec_of(1), ANN, note="x" * 1000)
    with pytest.raises(RequestInvalid, match="1001 characters"):
        await change(backend.tasks, made.task, spec_of(2), ANN, note="x" * 1001)


async def test_the_history_tells_what_each_version_changed(backend: SqliteBackend) -> None:
    applied = (await kept(backend, 1, 2, 1))[-1]
    revisions = await history(backend.tasks, applied.task)
    assert [
        (one.version.number, [(change.before, change.after) for change in one.changes]) for one in revisions
    ] == [(3, [(2, 1)]), (2, [(1, 2)]), (1, [])]
    assert await history(backend.tasks, applied.task, limit=2) == revisions[:2]
    assert await history(backend.tasks, applied.task, before=3, limit=1) == revisions[1:2]
    assert await history(backend.tasks, applied.task, before=2) == revisions[2:]


async def test_a_version_is_shown_with_what_it_changed(backend: SqliteBackend) -> None:
    task = (await kept(backend, 1, 2))[-1].task
    assert [change.path for change in (await revision(backend.tasks, task, 2)).changes] == ["n"]
    assert (await revision(backend.tasks, task, 1)).changes == []
    with pytest.raises(NotFound, match="has no version 9"):
        await revision(backend.tasks, task, 9)


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


@pytest.mark.parametrize(
    ("task", "paths"),
    [
        ({"selectors": {"items": "li["}, "archive": {"warc": True}}, ["selectors.items.expr"]),
        ({"selectors": {"items": "li[", "fields": {}}}, ["selectors.items.expr"]),
        (
            {
                "selectors": {
                    "items": "li[",
                    "fields": {"a": {"type": "regex", "expr": "("}, "b": "p[", "c": "p"},
                },
                "limits": {"max_pages": 0},
                "pipeline": ["trimm", {"use": "trim", "fields": ["a", "d"]}],
            },
            [
                "selectors.fields.a.expr",
                "limits.max_pages",
                "selectors.items.expr",
                "selectors.fields.b.expr",
                "pipeline[0]",
                "pipeline[1].fields[1]",
            ],
        ),
        (
            {
                "selectors": {"items": {"type": "regex", "expr": "("}, "fields": {"a": "p"}},
                "pages": {"x": 3, "y": {"selectors": {"fields": {"b": "p["}}}},
                "pipeline": [{"use": "trim", "fields": ["of_x"]}],
            },
            ["selectors.items.expr", "pages.x", "pages.y.selectors.fields.b.expr"],
        ),
        (
            {
                "entry_urls": [{"url": "https://a.example/", "page": "q"}],
                "selectors": {"fields": {"a": "p["}},
            },
            ["entry_urls[0].page", "selectors.fields.a.expr"],
        ),
        ({"name": "", "selectors": 5, "fetch": {"headers": []}}, ["name", "selectors", "fetch.headers"]),
    ],
)
def test_all_problems_of_a_task_are_reported_together(task: dict[str, Any], paths: list[str]) -> None:
    with pytest.raises(TaskInvalid) as caught:
        check_task(parse_task(TASK | task, check_rules=rule_problems))
    assert [problem.path for problem in caught.value.problems] == paths


def test_an_entry_is_told_even_when_somebody_spoiled_it() -> None:
    entry = AuditEntry(3, 0.0, "ann", "task.created", "task:1", b'{"a":1}', "0", "1")
    shown = entry_view(entry)
    assert (shown.id, shown.at, shown.detail) == ("3", "1970-01-01T00:00:00.000Z", {"a": 1})
    spoiled = msgspec.structs.replace(entry, at=1e300, actor="\udcff", detail=b"{\xff")
    shown = entry_view(spoiled)
    assert (shown.at, shown.actor, shown.detail) == ("1e+300", "?", "{�")
    assert msgspec.json.encode(shown)


def test_a_check_is_told_with_the_entry_that_is_wrong() -> None:
    assert msgspec.structs.astuple(check_view(AuditCheck(AuditHead(2, "h"), None))) == (
        True,
        2,
        "h",
        None,
        "",
    )
    broken = check_view(AuditCheck(AuditHead(2, "h"), ChainBreak(3, "is missing")))
    assert msgspec.structs.astuple(broken) == (False, 2, "h", "3", "entry 3 is missing")
