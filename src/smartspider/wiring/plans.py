"""The plan of a stored run."""

from __future__ import annotations

import msgspec

from smartspider.core.plan import Plan
from smartspider.core.runs import Run
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def plan_of(run: Run) -> Plan:
    """The run's task, as it was when the run was created, compiled again."""
    return compile_task(parse_task(msgspec.json.decode(run.spec)))
