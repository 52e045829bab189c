"""The plan of a stored run."""

from __future__ import annotations

import msgspec

from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import Tuning, apply_tuning
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


def plan_of(run: Run) -> Plan:
    """The run's task, as it was when the run was created, compiled again; with its knobs as they are now."""
    return retuned(compile_task(parse_task(msgspec.json.decode(run.spec))), run)


def retuned(plan: Plan, run: Run) -> Plan:
    """The plan that a run was made from, with the knobs as they are turned now."""
    return plan if run.tuning is None else apply_tuning(plan, msgspec.json.decode(run.tuning, type=Tuning))
