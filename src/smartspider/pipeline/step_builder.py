"""Build one step of a task from its name and options, and check the fields it names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from smartspider.core.errors import NotBuilt, NotFound, Problem
from smartspider.core.functions import short_name
from smartspider.interfaces.step import ItemStep, ValueStep
from smartspider.pipeline.paths import parse_path
from smartspider.pipeline.steps.fields import RenameStep, TemplateStep, UniqueStep
from smartspider.pipeline.value_step import OnError
from smartspider.plugins.options import construct, option_parameters, option_problems, show

COMMON = ("use", "fields", "on_error", "enabled")
"""Keys of every step that are not options; `fields` is passed to steps with that parameter."""

_OURS = "smartspider.pipeline.steps."


class BuiltStep(NamedTuple):
    """A step with its configuration in the task."""

    use: str
    path: str
    step: Any
    fields: list[str] | None
    on_error: OnError | None
    is_rule: bool
    addresses: bool
    """True if the step received `fields` itself."""

    @property
    def name(self) -> str:
        """The name of the step in counters and rejects."""
        return f"{self.path} {self.use}"

    @property
    def is_on_items(self) -> bool:
        """True if it works on items rather than values; if it can do both, `fields` decides."""
        if not isinstance(self.step, ItemStep):
            return False
        return self.addresses or self.fields is None or not isinstance(self.step, ValueStep)

    @property
    def is_foreign(self) -> bool:
        """True if it is a plug-in."""
        return not type(self.step).__module__.startswith(_OURS)


def build_step(
    find: Callable[[str], Any], step: dict[str, Any], path: str, problems: list[Problem], *, is_rule: bool
) -> BuiltStep | None:
    """Build a step, or append its problems and return None."""
    use = step["use"]
    try:
        factory = find(use)
    except (NotFound, NotBuilt) as error:
        problems.append(Problem(f"{path}.use" if len(step) > 1 else path, error.message, error.hint))
        return None
    options = {name: value for name, value in step.items() if name not in COMMON}
    wrong = option_problems("step", factory, options, path, COMMON)
    wrong += _common_problems(step, path, is_rule=is_rule)
    if wrong:
        problems += wrong
        return None
    fields = step.get("fields")
    addresses = "fields" in option_parameters(factory) and not is_rule
    given = {**options, "fields": fields} if addresses else options
    made, problem = construct("step", use, factory, given, path)
    built = BuiltStep(short_name(use), path, made, fields, step.get("on_error"), is_rule, addresses)
    problem = problem or _shape_problem(built)
    if problem is not None:
        problems.append(problem)
        return None
    return built


def _common_problems(step: dict[str, Any], path: str, *, is_rule: bool) -> list[Problem]:
    problems = []
    on_error = step.get("on_error")
    if on_error is not None and on_error not in get_args(OnError):
        choices = ", ".join(get_args(OnError))
        problems.append(Problem(f"{path}.on_error", f"{show(on_error)} is not one of {choices}"))
    fields = step.get("fields")
    if is_rule and fields is not None:
        reason = "the steps of a rule work on its value"
        problems.append(Problem(f"{path}.fields", reason, "remove 'fields', or use the step in 'pipeline'"))
    elif fields is not None and not fields:
        problems.append(Problem(f"{path}.fields", "is empty", "remove it to apply the step to all fields"))
    return problems


def _shape_problem(built: BuiltStep) -> Problem | None:
    if not isinstance(built.step, ValueStep | ItemStep):
        return Problem(
            built.path, f"the plug-in {built.use!r} did not return a step", "see interfaces/step.py"
        )
    if built.fields is not None and not built.addresses and not isinstance(built.step, ValueStep):
        return Problem(f"{built.path}.fields", f"the step {built.use!r} works on whole items", "remove it")
    return None


def field_name_problems(built: BuiltStep, known: Collection[str]) -> list[Problem]:
    """Return a problem for each field that the step names and that is unknown or would be overwritten."""
    match built.step:
        case TemplateStep() if not built.fields:
            hint = "the field to write, new or old"
            return [Problem(f"{built.path}.fields", "the key 'fields' is missing", hint)]
        case TemplateStep(names=names):
            return _missing(dict.fromkeys(names, f"{built.path}.text"), known)
        case RenameStep(mapping=mapping):
            return _missing({name: f"{built.path}.{_place(built, name)}" for name in mapping}, known) or [
                Problem(
                    f"{built.path}.to", f"there already is a field {new!r}", "drop or rename that one first"
                )
                for new in mapping.values()
                if new in known and new not in mapping
            ]
        case UniqueStep() if any("." in name and name not in known for name in built.fields or ()):
            return [Problem(f"{built.path}.fields", "whole fields are compared", "names without a dot")]
        case _:
            named = built.fields or []
            return _missing({name: f"{built.path}.fields[{at}]" for at, name in enumerate(named)}, known)


def unknown_field(path: str, name: str, known: Collection[str]) -> Problem:
    """Return the problem of an unknown field, with the nearest known one as hint."""
    near = get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}" if known else ""
    return Problem(path, f"there is no field {name!r}", hint)


def _place(built: BuiltStep, name: str) -> str:
    return f"fields[{built.fields.index(name)}]" if built.fields and name in built.fields else f"to.{name}"


def _missing(named: dict[str, str], known: Collection[str]) -> list[Problem]:
    return [
        unknown_field(path, name, known) for name, path in named.items() if parse_path(name, known) is None
    ]
