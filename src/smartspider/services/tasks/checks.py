"""Read tasks as they are sent, and validate them without fetching anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.tasks import TaskSpec
from smartspider.installation.installation import Installation
from smartspider.services.plans import compile_plan, rule_problems
from smartspider.services.schedules.schedules import find_task_problem
from smartspider.taskfile.checks import find_cautions, find_missing
from smartspider.taskfile.compile import plan_task
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.problems import task_invalid


class CheckedTask(msgspec.Struct, frozen=True):
    """A valid task. `missing` lists features that this version does not support, `cautions` lists warnings
    for its owner.
    """

    spec: TaskSpec
    missing: list[Problem]
    cautions: list[Problem] = []

    @property
    def warnings(self) -> list[Problem]:
        """Missing features and cautions."""
        return [*self.missing, *self.cautions]


def check_task(task: Task, *, is_local: bool = False) -> CheckedTask:
    """Compile all rules and steps of a task; raise `TaskInvalid` with every problem."""
    plan = plan_task(task)
    compile_plan(plan, is_local=is_local)
    spec = TaskSpec(plan.name, plan.spec, plan.spec_hash)
    return CheckedTask(spec, find_missing(task), find_cautions(task))


async def check_document(installation: Installation, document: object, holder: str = "") -> CheckedTask:
    """Parse and check a document, also against the settings; a large task takes a while."""
    checked: CheckedTask = await installation.offload.run(_check, document, holder=holder)
    problem = find_task_problem(installation, checked.spec.spec)
    if problem is not None:
        raise task_invalid([problem])
    return checked


def _check(document: object) -> CheckedTask:
    return check_task(parse_task(document, check_rules=rule_problems))


def problems_of(error: TaskInvalid) -> list[Problem]:
    """Return the problems of an error; at least one."""
    return list(error.problems) or [Problem("", error.message, error.hint)]


class TaskDocument:
    """A task file from a request body: read but not validated, or the reason it cannot be read."""

    def __init__(self, document: object, error: TaskInvalid | None = None) -> None:
        self._document = document
        self._error = error

    def value(self) -> object:
        """Return the document; raise `TaskInvalid`."""
        if self._error is not None:
            raise self._error
        return self._document


TaskSource = Mapping[str, Any] | str | bytes | msgspec.Raw | TaskDocument


def read_task_source(task: TaskSource) -> object:
    """Return the keys and values of a task; raise `TaskInvalid` for text that cannot be read."""
    if isinstance(task, TaskDocument):
        return task.value()
    if isinstance(task, Mapping):
        return task
    from smartspider.taskfile.document import read_document

    text = task if isinstance(task, str) else bytes(task).decode("utf-8-sig")
    return read_document(text, "task.json" if text.lstrip().startswith(("{", "[")) else "task.yaml")
