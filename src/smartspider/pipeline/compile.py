"""The steps of a task compiled: everything that is wrong with them is said at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.step import ItemStep, ValueStep
from smartspider.pipeline.acts import Act, AsideAct, FieldsAct, ItemAct
from smartspider.pipeline.building import Built, build
from smartspider.pipeline.counting import CleaningLog
from smartspider.pipeline.naming import names_problems
from smartspider.pipeline.paths import Path, path_of
from smartspider.pipeline.plain import guarded
from smartspider.pipeline.running import RuleTreatment, StepPipeline
from smartspider.pipeline.steps.fields import UniqueStep
from smartspider.pipeline.table import Shape, Table, shape_after, table_after, table_of
from smartspider.pipeline.use import StepUse

Steps = tuple[dict[str, Any], ...]
Find = Callable[[str], Any]
"""Gives the step of a name; raises `NotFound` or `NotBuilt`."""

_RULE_PATH = re.compile(r"(?:^|\.)selectors(?=\.)")


class StepCompiler:
    """Compiles the steps of one task. What the steps of rules did comes out with the pipeline of the page."""

    def __init__(self, find: Find, *, logs_cleaning: bool = False) -> None:
        self._find = find
        self._log = CleaningLog(is_on=logs_cleaning)
        self._treatments: list[RuleTreatment] = []

    def rule_steps(self, steps: Steps, path: str) -> RuleTreatment:
        """The treatment of a rule at a path; raises `TaskInvalid` naming every step that is wrong."""
        path = path.removesuffix(".steps")
        problems: list[Problem] = []
        uses: list[StepUse] = []
        for built in self._built(steps, f"{path}.steps", problems, is_rule=True):
            step = built.step
            if not isinstance(step, ValueStep) or _aside_option(step):
                problems.append(_not_in_a_rule(built))
                continue
            name = _RULE_PATH.sub("", built.name).lstrip(".")
            uses.append(_use(built, name))
        refuse(problems)
        field = re.sub(r"\[\d+\]", "", path).partition("fields.")[2].replace(".fields.", ".")
        kind = next((use.step.kind for use in reversed(uses) if use.step.kind), None)
        treatment = RuleTreatment(tuple(uses), kind, field, self._log)
        self._treatments.append(treatment)
        return treatment

    def pipeline(self, steps: Steps, columns_in: tuple[TableColumn, ...]) -> StepPipeline | None:
        """The pipeline of items with these columns, None when nothing is to do; raises `TaskInvalid`."""
        acts, _ = self.acts(steps, table_of(columns_in))
        if not acts and not any(treatment.uses for treatment in self._treatments):
            return None
        return StepPipeline(acts, tuple(self._treatments), self._log)

    def acts(self, steps: Steps, table: Table) -> tuple[tuple[Act, ...], Table]:
        """The steps bound to the fields of a table, and the table after them; raises `TaskInvalid`."""
        problems: list[Problem] = []
        acts: list[Act] = []
        keys: list[_Key] = []
        for built in self._built(steps, "pipeline", problems, is_rule=False):
            problems += names_problems(built, table)
            try:
                act, table = _bound(built, table)
            except Exception as error:  # noqa: BLE001 - a plug-in's `columns` may raise anything
                problems.append(Problem(built.path, f"the step {built.use!r} has no columns: {error}"))
                continue
            if isinstance(built.step, UniqueStep):
                keys.append(_Key(built.path, {name: name for name in built.step.names if name in table}))
            else:
                acts.append(act)
            for key in keys:
                key.follow(getattr(built.step, "mapping", {}))
        refuse([*problems, *(problem for key in keys for problem in key.lost(table))])
        return tuple(acts), table

    def _built(self, steps: Steps, path: str, problems: list[Problem], *, is_rule: bool) -> list[Built]:
        found = []
        for number, step in enumerate(steps):
            if step.get("enabled") is not False:
                built = build(self._find, step, f"{path}[{number}]", problems, is_rule=is_rule)
                if built is not None:
                    found.append(built)
        return found


class _Key:
    """Fields that are compared at the end, by the names they have by then."""

    def __init__(self, path: str, names: dict[str, str]) -> None:
        self._path = path
        self._names = names

    def follow(self, mapping: dict[str, str]) -> None:
        self._names = {name: mapping.get(now, now) for name, now in self._names.items()}

    def lost(self, table: Table) -> list[Problem]:
        return [
            Problem(
                f"{self._path}.fields", f"the field {name!r} is dropped later", "what is compared must stay"
            )
            for name, now in self._names.items()
            if now not in table
        ]


def refuse(problems: list[Problem]) -> None:
    """Raises `TaskInvalid` when there are problems."""
    if problems:
        first = problems[0]
        raise TaskInvalid(f"{first.path}: {first.message}", tuple(problems), hint=first.hint)


def _bound(built: Built, table: Table) -> tuple[Act, Table]:
    step = built.step
    if built.is_on_items:
        assert isinstance(step, ItemStep)  # noqa: S101 - for the type checker; `build` looked
        act = ItemAct(built.name, step, built.on_error, is_foreign=built.is_foreign)
        return act, table_after(table, step)
    use = _use(built, built.name)
    paths: tuple[Path, ...] | None = None
    if built.fields is not None:
        paths = tuple(path for name in built.fields if (path := path_of(name, table)))
    touched = list(table) if paths is None else [path[0] for path in paths if len(path) == 1]
    changed = {name: shape_after(table[name], step, built.on_error) for name in touched}
    target: str | None = getattr(step, "aside", None)
    if target is None:
        return FieldsAct(use, paths), {**table, **changed}
    if getattr(step, "keeps_value", False):
        changed = {}
    named = list(table) if built.fields is None else built.fields
    aside = {target.replace("*", name): Shape(getattr(step, "aside_kind", "text")) for name in named}
    return AsideAct(use, paths, target), {**table, **changed, **aside}


def _use(built: Built, name: str) -> StepUse:
    on_error = built.on_error
    if getattr(built.step, "keeps_value", False) and on_error in (None, "null") and not built.is_rule:
        on_error = "keep"
    use = StepUse(name, built.step, on_error)
    if built.is_foreign:
        use.treat_one = guarded(use.treat_one)
    return use


def _aside_option(step: Any) -> str:
    """The option by which a step was told to write into another field."""
    return str(getattr(step, "aside_option", "")) if getattr(step, "aside", None) else ""


def _not_in_a_rule(built: Built) -> Problem:
    option = _aside_option(built.step)
    if option:
        reason = f"the step {built.use!r} of a rule has no other field to write to"
        return Problem(f"{built.path}.{option}", reason, "use the step in 'pipeline'")
    return Problem(built.path, f"the step {built.use!r} treats whole items", "use it in 'pipeline'")
