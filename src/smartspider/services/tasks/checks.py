"""Validate tasks without fetching anything."""

from __future__ import annotations

import asyncio

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.tasks import TaskSpec
from smartspider.services.plans import compile_plan
from smartspider.taskfile.capabilities import find_missing
from smartspider.taskfile.checks import find_cautions
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.task import Task, task_spec


class CheckedTask(msgspec.Struct, frozen=True):
    """A valid task. `missing` lists features that this version does not support, `cautions` lists warnings
    for its
    owner.
    """

    spec: TaskSpec
    missing: list[Problem]
    cautions: list[Problem] = []

    @property
    def warnings(self) -> list[Problem]:
        """Missing features and cautions."""
        return [*self.missing, *self.cautions]


def check_task(task: Task) -> CheckedTask:
    """Compile all rules and steps of a task; raise `TaskInvalid` with every problem."""
    missing = find_missing(task)
    if not missing:
        compile_plan(compile_task(task))
    return CheckedTask(task_spec(task), missing, find_cautions(task))


async def check_document(document: object) -> CheckedTask:
    """Parse and check a document in a thread: a large task takes a while."""
    return await asyncio.to_thread(lambda: check_task(parse_task(document)))


def problems_of(error: TaskInvalid) -> list[Problem]:
    """Return the problems of an error; at least one."""
    return list(error.problems) or [Problem("", error.message, error.hint)]
