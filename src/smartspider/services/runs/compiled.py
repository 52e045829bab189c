"""A plan made ready to read pages: rules and steps compiled together, everything wrong said at once."""

from __future__ import annotations

import msgspec

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.runs.plan import Plan
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.extractor import Extractor
from smartspider.interfaces.pipeline import Pipeline
from smartspider.pipeline.columns import rule_columns
from smartspider.pipeline.compile import StepCompiler
from smartspider.services.results.columns import find_step


class Compiled(msgspec.Struct, frozen=True):
    """What reads the pages of a run. `pipeline` is None where no step treats the items."""

    extractor: Extractor
    pipeline: Pipeline | None


def compile_plan(plan: Plan) -> Compiled:
    """Compile all rules and steps of a plan; raises `TaskInvalid` naming each that cannot work."""
    steps = StepCompiler(find_step, logs_cleaning=plan.logs_cleaning)
    problems: list[Problem] = []
    extractor: Extractor | None = None
    pipeline: Pipeline | None = None
    try:
        extractor = compile_pages(plan.pages, plan.traps, steps.compile_chain)
    except TaskInvalid as error:
        problems += error.problems
    try:  # also where a rule is wrong, so that everything is said at once
        pipeline = steps.compile_pipeline(plan.pipeline, rule_columns(plan, find_step))
    except TaskInvalid as error:
        problems += error.problems
    if extractor is None or problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)
    return Compiled(extractor, pipeline)
