"""Plans of runs: compiled rules and steps, and the columns of their rows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from smartspider.core.errors import NotBuilt, Problem, TaskInvalid
from smartspider.core.functions import parse_function
from smartspider.core.items.columns import TableColumn
from smartspider.core.requests.secrets import SecretValues
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import Tuning
from smartspider.extract.compile import compile_pages
from smartspider.fetch.layers import PageLayers, compile_layers
from smartspider.interfaces.extractor import Extractor, Pipeline
from smartspider.interfaces.offload import Offload
from smartspider.pipeline import columns, item_schema
from smartspider.pipeline.columns import rule_columns
from smartspider.pipeline.compile import StepCompiler
from smartspider.pipeline.function_step import step_factory, unloaded_step
from smartspider.plugins.function_files import load_function
from smartspider.plugins.kinds import STEP
from smartspider.plugins.registry import resolve
from smartspider.taskfile.compile import compile_task, plan_task
from smartspider.taskfile.load import parse_spec
from smartspider.taskfile.model.task import Task


def run_plan(run: Run) -> Plan:
    """Return the plan of a run with its current tuning, compiled from the task it was created with."""
    return with_tuning(compile_task(parse_spec(run.spec)), run)


def with_tuning(plan: Plan, run: Run) -> Plan:
    """Apply the current tuning of a run to its plan."""
    return plan if run.tuning is None else plan.tuned(msgspec.json.decode(run.tuning, type=Tuning))


class CompiledPlan(msgspec.Struct, frozen=True):
    """The compiled rules and layers of a plan; `pipeline` is None without steps."""

    extractor: Extractor
    pipeline: Pipeline | None
    layers: PageLayers


def compile_plan(plan: Plan, *, is_local: bool = False, secrets: SecretValues | None = None) -> CompiledPlan:
    """Compile all rules, steps and layers of a plan; raise `TaskInvalid` with every problem found.

    `secrets` are the values for its layers; None: they are only checked. Only a local command runs functions
    of Python files; raise `NotBuilt` elsewhere.
    """
    if plan.runs_functions and not is_local:
        raise NotBuilt(
            "the task names functions of Python files, which only local commands run",
            hint="crawl it with `smartspider crawl`, or install the functions as a plug-in package",
        )
    steps = StepCompiler(load_step, logs_cleaning=plan.logs_cleaning)
    problems: list[Problem] = []
    extractor: Extractor | None = None
    pipeline: Pipeline | None = None
    layers: PageLayers = {}
    try:
        extractor = compile_pages(plan.pages, plan.traps, steps.compile_chain)
    except TaskInvalid as error:
        problems += error.problems
    try:  # even after a wrong rule, to report all problems at once
        pipeline = steps.compile_pipeline(plan.pipeline, rule_columns(plan, find_step))
    except TaskInvalid as error:
        problems += error.problems
    try:
        trust = None if secrets is None or not plan.layers else plan.trust
        layers = compile_layers(plan.layers, plan.pages, secrets, trust)
    except TaskInvalid as error:
        problems += error.problems
    if extractor is None or problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)
    return CompiledPlan(extractor, pipeline, layers)


_ANY_ENTRY = {"entry_urls": ["http://localhost/"], "sitemaps": False}


def rule_problems(task: Task) -> list[Problem]:
    """Return the problems of the rules and steps of a task, which may have others. Functions of Python files
    are not loaded: a task that names some has no problems here.
    """
    if task.functions is not None:
        return []
    try:
        compile_plan(plan_task(task.model_copy(update=_ANY_ENTRY)))
    except TaskInvalid as error:
        return list(error.problems)
    return []


def load_step(use: str) -> Any:
    """Return the factory of a step: built in, installed, or a function of a Python file."""
    return resolve(STEP, use) if parse_function(use) is None else step_factory(load_function(use), use)


def find_step(use: str) -> Any:
    """Return the factory of a step for its columns. No Python file is loaded."""
    return resolve(STEP, use) if parse_function(use) is None else unloaded_step


def plan_columns(plan: Plan) -> tuple[TableColumn, ...]:
    """Return the columns of rows after all steps, in task order, of all page types that yield rows."""
    return columns.row_columns(plan, find_step)


def untuned_plan(run: Run) -> Plan:
    """Return the plan of a run without tuning, cached."""
    return _plan(run.spec)


LARGE_SPEC = 65_536
"""Bytes of a task whose plan takes long enough to be made outside the event loop."""


async def load_plan(offload: Offload, run: Run) -> None:
    """Have the untuned plan of a large task made outside the event loop, for the calls that follow."""
    if len(run.spec) > LARGE_SPEC and run.spec not in _PLANS:
        _remember(run.spec, await offload.run(_compiled, run.spec))


def run_columns(run: Run) -> tuple[TableColumn, ...]:
    """Return the columns of the rows of a run."""
    return _columns(run.spec)


_PLANS: dict[bytes, Plan] = {}
_MOST_PLANS = 64


def _plan(spec: bytes) -> Plan:
    return _PLANS.get(spec) or _remember(spec, _compiled(spec))


def _remember(spec: bytes, plan: Plan) -> Plan:
    _PLANS[spec] = plan
    while len(_PLANS) > _MOST_PLANS:
        del _PLANS[next(iter(_PLANS))]
    return plan


def _compiled(spec: bytes) -> Plan:
    return plan_task(parse_spec(spec))


@lru_cache(maxsize=256)
def _columns(spec: bytes) -> tuple[TableColumn, ...]:
    return plan_columns(_plan(spec))


def row_schema(plan: Plan) -> dict[str, Any]:
    """Return the JSON Schema of the rows of a task."""
    return item_schema.item_schema(plan, find_step)
