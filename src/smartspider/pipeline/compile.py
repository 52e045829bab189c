"""Compile the steps of a task, reporting all problems at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.functions import CRASHES, pass_interrupt
from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.step import ItemStep, ValueStep
from smartspider.pipeline.bound_steps import BoundStep, ExtraFieldStep, FieldsStep, WholeItemStep
from smartspider.pipeline.cleaning_log import CleaningLog
from smartspider.pipeline.column_shapes import ColumnShape, ColumnTable, make_table, shape_after, table_after
from smartspider.pipeline.paths import Path, parse_path
from smartspider.pipeline.pipeline import RuleStepChain, StepPipeline
from smartspider.pipeline.step_builder import BuiltStep, build_step, field_name_problems
from smartspider.pipeline.steps.fields import UniqueStep
from smartspider.pipeline.value_step import ConfiguredStep, checked_apply

Steps = tuple[dict[str, Any], ...]
FindStep = Callable[[str], Any]
"""Returns the step factory of a name; raises `NotFound` or `NotBuilt`."""

_RULE_PATH = re.compile(r"(?:^|\.)selectors(?=\.)")


class StepCompiler:
    """Compiles the steps of one task. Counters of rule steps are reported by the pipeline."""

    def __init__(self, find: FindStep, *, logs_cleaning: bool = False) -> None:
        self._find = find
        self._log = CleaningLog(is_on=logs_cleaning)
        self._chains: list[RuleStepChain] = []

    def compile_chain(self, steps: Steps, path: str) -> RuleStepChain:
        """Compile the steps of a rule at a path; raise `TaskInvalid` naming every invalid step."""
        path = path.removesuffix(".steps")
        problems: list[Problem] = []
        uses: list[ConfiguredStep] = []
        for built in self._build(steps, f"{path}.steps", problems, is_rule=True):
            step = built.step
            if not isinstance(step, ValueStep) or _extra_option(step):
                problems.append(_not_in_a_rule(built))
                continue
            name = _RULE_PATH.sub("", built.name).lstrip(".")
            uses.append(_configure(built, name))
        raise_problems(problems)
        field = re.sub(r"\[\d+\]", "", path).partition("fields.")[2].replace(".fields.", ".")
        kind = next((use.step.kind for use in reversed(uses) if use.step.kind), None)
        chain = RuleStepChain(tuple(uses), kind, field, self._log)
        self._chains.append(chain)
        return chain

    def compile_pipeline(self, steps: Steps, columns_in: tuple[TableColumn, ...]) -> StepPipeline | None:
        """Compile the pipeline for items with these columns; None if there is nothing to do. Raise
        `TaskInvalid`.
        """
        bound, _ = self.bind(steps, make_table(columns_in))
        if not bound and not any(chain.uses for chain in self._chains):
            return None
        return StepPipeline(bound, tuple(self._chains), self._log)

    def bind(self, steps: Steps, table: ColumnTable) -> tuple[tuple[BoundStep, ...], ColumnTable]:
        """Bind steps to the fields of a table; return them and the table afterwards. Raise `TaskInvalid`."""
        problems: list[Problem] = []
        bound: list[BoundStep] = []
        keys: list[_Key] = []
        for built in self._build(steps, "pipeline", problems, is_rule=False):
            problems += field_name_problems(built, table)
            try:
                step, table = _bind(built, table)
            except CRASHES as error:  # a plug-in's `columns` may raise anything
                pass_interrupt(error)
                problems.append(Problem(built.path, f"the step {built.use!r} has no columns: {error}"))
                continue
            if isinstance(built.step, UniqueStep):
                keys.append(_Key(built.path, {name: name for name in built.step.names if name in table}))
            else:
                bound.append(step)
            for key in keys:
                key.follow(getattr(built.step, "mapping", {}))
        raise_problems([*problems, *(problem for key in keys for problem in key.lost(table))])
        return tuple(bound), table

    def _build(self, steps: Steps, path: str, problems: list[Problem], *, is_rule: bool) -> list[BuiltStep]:
        found = []
        for number, step in enumerate(steps):
            if step.get("enabled") is not False:
                built = build_step(self._find, step, f"{path}[{number}]", problems, is_rule=is_rule)
                if built is not None:
                    found.append(built)
        return found


class _Key:
    """Fields of `unique`, tracked through later renames."""

    def __init__(self, path: str, names: dict[str, str]) -> None:
        self._path = path
        self._names = names

    def follow(self, mapping: dict[str, str]) -> None:
        self._names = {name: mapping.get(now, now) for name, now in self._names.items()}

    def lost(self, table: ColumnTable) -> list[Problem]:
        return [
            Problem(
                f"{self._path}.fields", f"the field {name!r} is dropped later", "compared fields must stay"
            )
            for name, now in self._names.items()
            if now not in table
        ]


def raise_problems(problems: list[Problem]) -> None:
    """Raise `TaskInvalid` if there are problems."""
    if problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)


def _bind(built: BuiltStep, table: ColumnTable) -> tuple[BoundStep, ColumnTable]:
    step = built.step
    if built.is_on_items:
        assert isinstance(step, ItemStep)  # noqa: S101 - for the type checker; `build_step` looked
        whole = WholeItemStep(built.name, step, built.on_error, is_foreign=built.is_foreign)
        return whole, table_after(table, step)
    use = _configure(built, built.name)
    paths: tuple[Path, ...] | None = None
    if built.fields is not None:
        paths = tuple(path for name in built.fields if (path := parse_path(name, table)))
    touched = list(table) if paths is None else [path[0] for path in paths if len(path) == 1]
    changed = {name: shape_after(table[name], step, built.on_error) for name in touched}
    target: str | None = getattr(step, "extra_field", None)
    if target is None:
        return FieldsStep(use, paths), {**table, **changed}
    if getattr(step, "keeps_value", False):
        changed = {}
    named = list(table) if built.fields is None else built.fields
    extra = {target.replace("*", name): ColumnShape(getattr(step, "extra_kind", "text")) for name in named}
    return ExtraFieldStep(use, paths, target), {**table, **changed, **extra}


def _configure(built: BuiltStep, name: str) -> ConfiguredStep:
    on_error = built.on_error
    if getattr(built.step, "keeps_value", False) and on_error in (None, "null") and not built.is_rule:
        on_error = "keep"
    use = ConfiguredStep(name, built.step, on_error)
    if built.is_foreign:
        use.apply_one = checked_apply(use.apply_one)
    return use


def _extra_option(step: Any) -> str:
    """Return the option that makes a step write to another field."""
    return str(getattr(step, "extra_option", "")) if getattr(step, "extra_field", None) else ""


def _not_in_a_rule(built: BuiltStep) -> Problem:
    option = _extra_option(built.step)
    if option:
        reason = f"the step {built.use!r} of a rule has no other field to write to"
        return Problem(f"{built.path}.{option}", reason, "use the step in 'pipeline'")
    return Problem(built.path, f"the step {built.use!r} works on whole items", "use it in 'pipeline'")
