"""The options of a step: checked against what its constructor takes, all of them at once."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

import msgspec

from smartspider.core.errors import Problem

COMMON = ("use", "fields", "on_error", "enabled")
"""Keys that every step has and that are no options; `fields` goes to the steps that ask for it."""

_LONGEST = 60


class OptionWrong(ValueError):
    """An option that is of the right type and still means nothing."""

    def __init__(self, option: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.option = option
        self.message = message
        self.hint = hint


def parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What a step takes, by the names a task uses: `with` is the parameter `with_`."""
    found = inspect.signature(factory).parameters
    return {
        name.removesuffix("_"): parameter
        for name, parameter in found.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def takes_anything(factory: Callable[..., Any]) -> bool:
    """Whether a step looks at its options by itself."""
    kinds = {parameter.kind for parameter in inspect.signature(factory).parameters.values()}
    return inspect.Parameter.VAR_KEYWORD in kinds


def option_problems(factory: Callable[..., Any], options: Mapping[str, Any], path: str) -> list[Problem]:
    """Everything that is wrong with the names and types of a step's options."""
    known = parameters(factory)
    names = [name for name in known if name != "fields"]
    hints = _hints(factory)
    problems = [
        Problem(f"{path}.{name}", f"the key {name!r} is missing", f"options: {', '.join(names)}")
        for name in names
        if known[name].default is inspect.Parameter.empty and name not in options
    ]
    for name, value in options.items():
        if name not in known or name == "fields":
            if not takes_anything(factory):
                problems.append(Problem(f"{path}.{name}", f"unknown key {name!r}", _meant(name, names)))
        elif known[name].name in hints:
            problems += _type_problem(f"{path}.{name}", value, hints[known[name].name])
    return problems


def arguments(factory: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as keyword arguments."""
    known = parameters(factory)
    return {known[name].name if name in known else name: value for name, value in options.items()}


def shown(value: object) -> str:
    """A value as it stands in the task, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def pattern(option: str, text: str) -> re.Pattern[str]:
    """A regular expression, or what is wrong with it and where."""
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "Python's syntax; a literal dot is \\."
        raise OptionWrong(option, f"{shown(text)} is not a regular expression: {error}", hint) from error


def bounds(low: Any, high: Any) -> None:
    """Refuses a lower bound above the upper one, and no bound at all."""
    if low is None and high is None:
        raise OptionWrong("", "needs 'min', 'max' or both")
    if low is not None and high is not None and low > high:
        raise OptionWrong("min", f"{shown(low)} is above max ({shown(high)})", "min is the smaller one")


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    """Types of the parameters. A plug-in whose annotations cannot be read is not checked."""
    source = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    try:
        return get_type_hints(source)
    except (NameError, TypeError, AttributeError):
        return {}


def _type_problem(path: str, value: Any, hint: Any) -> list[Problem]:
    try:
        msgspec.convert(value, hint, strict=True)
    except msgspec.ValidationError as error:
        reason = str(error).partition(" - at ")[0]
        return [Problem(path, f"{shown(value)} is wrong: {reason[:1].lower()}{reason[1:]}")]
    except TypeError:
        return []
    return []


def _meant(name: str, names: list[str]) -> str:
    near = get_close_matches(name, [*names, *COMMON], n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"options: {', '.join(names)}" if names else "the step takes no options"
