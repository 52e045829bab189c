"""Check the options of a plug-in against the signature of its constructor, and construct it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

import msgspec

from smartspider.core.errors import Problem
from smartspider.core.functions import CRASHES, error_text, pass_interrupt, printing_apart, short_name
from smartspider.core.patterns.pattern import PATTERN_ERRORS, UserPattern, user_pattern

_LONGEST = 60


class InvalidOption(ValueError):
    """An option of the right type with an invalid value."""

    def __init__(self, option: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.option = option
        self.message = message
        self.hint = hint


def option_parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a plug-in by their task names: `with` is the parameter `with_`."""
    found = inspect.signature(factory).parameters
    return {
        name.removesuffix("_"): parameter
        for name, parameter in found.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def takes_anything(factory: Callable[..., Any]) -> bool:
    """Return True if a plug-in takes arbitrary options."""
    kinds = {parameter.kind for parameter in inspect.signature(factory).parameters.values()}
    return inspect.Parameter.VAR_KEYWORD in kinds


def option_problems(
    noun: str,
    factory: Callable[..., Any],
    options: Mapping[str, Any],
    path: str,
    common: Collection[str],
) -> list[Problem]:
    """Return all problems with the names and types of options. `common` are the keys of all plug-ins of the
    kind, which are no options.
    """
    known = option_parameters(factory)
    names = [name for name in known if name not in common]
    hints = _hints(factory)
    problems = [
        Problem(f"{path}.{name}", f"the key {name!r} is missing", f"options: {', '.join(names)}")
        for name in names
        if known[name].default is inspect.Parameter.empty and name not in options
    ]
    for name, value in options.items():
        if name not in names:
            if not takes_anything(factory):
                hint = _meant(noun, name, names, common)
                problems.append(Problem(f"{path}.{name}", f"unknown key {name!r}", hint))
        elif known[name].name in hints:
            problems += _type_problem(f"{path}.{name}", value, hints[known[name].name])
    return problems


def keyword_arguments(factory: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options to keyword arguments."""
    known = option_parameters(factory)
    return {known[name].name if name in known else name: value for name, value in options.items()}


def construct(
    noun: str, use: str, factory: Callable[..., Any], options: Mapping[str, Any], path: str
) -> tuple[Any, Problem | None]:
    """Construct a plug-in with options that have been checked; return it, or why it rejects them."""
    use = short_name(use)
    try:
        with printing_apart():
            return factory(**keyword_arguments(factory, options)), None
    except InvalidOption as error:
        return None, Problem(f"{path}.{error.option}" if error.option else path, error.message, error.hint)
    except CRASHES as error:  # a plug-in's constructor may raise anything
        pass_interrupt(error)
        reason = (str(error) if isinstance(error, Exception) else "") or error_text(error)
        return None, Problem(path, f"the {noun} {use!r} rejects its options: {reason}")


def show(value: object) -> str:
    """Format a value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def compile_pattern(option: str, text: str) -> UserPattern:
    """Compile a regular expression, or raise `InvalidOption`."""
    try:
        return user_pattern(text)
    except PATTERN_ERRORS as error:
        hint = "Python's syntax; a literal dot is \\."
        raise InvalidOption(option, f"{show(text)} is not a regular expression: {error}", hint) from error


def check_bounds(low: Any, high: Any) -> None:
    """Raise `InvalidOption` if both bounds are missing or the lower is above the upper."""
    if low is None and high is None:
        raise InvalidOption("", "needs 'min', 'max' or both")
    if low is not None and high is not None and low > high:
        raise InvalidOption("min", f"{show(low)} is above max ({show(high)})", "min is the smaller one")


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the parameters; empty if the annotations of a plug-in cannot be resolved."""
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
        return [Problem(path, f"{show(value)} is invalid: {reason[:1].lower()}{reason[1:]}")]
    except TypeError:
        return []
    return []


def _meant(noun: str, name: str, names: list[str], common: Collection[str]) -> str:
    near = get_close_matches(name, [*names, *common], n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"options: {', '.join(names)}" if names else f"the {noun} takes no options"
