"""Everything that can be checked about a task without fetching anything."""

from __future__ import annotations

import asyncio

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.tasks import TaskSpec
from smartspider.services.runs.compiled import compile_plan
from smartspider.taskfile.capabilities import find_missing
from smartspider.taskfile.checks import find_cautions
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.taskfile.model.task import Task, task_spec


class Checked(msgspec.Struct, frozen=True):
    """A task that is valid. `missing` is what it asks for and this version cannot do yet, `cautions` what its
    owner should know.
    """

    spec: TaskSpec
    missing: list[Problem]
    cautions: list[Problem] = []

    @property
    def warnings(self) -> list[Problem]:
        """All of this."""
        return [*self.missing, *self.cautions]


def check_task(task: Task) -> Checked:
    """Compile all rules and steps of a task; raises `TaskInvalid` naming each that cannot work."""
    missing = find_missing(task)
    if not missing:
        compile_plan(compile_task(task))
    return Checked(task_spec(task), missing, find_cautions(task))


async def check_document(document: object) -> Checked:
    """The same for plain values, beside the event loop: a large task takes a while."""
    return await asyncio.to_thread(lambda: check_task(parse_task(document)))


def problems_of(error: TaskInvalid) -> list[Problem]:
    """Everything that is wrong; at least one thing."""
    return list(error.problems) or [Problem("", error.message, error.hint)]
