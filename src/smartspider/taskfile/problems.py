"""Conversion of pydantic's errors to problems with a path, a message and a hint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from smartspider.core.errors import Problem, TaskInvalid
from smartspider.taskfile.keys import OF_OTHERS, description, did_you_mean, nearest, section_at, suggestion
from smartspider.taskfile.model.forms import MARK, WRONG_FORM, WRONG_KIND
from smartspider.taskfile.model.rules import NESTED, Rule
from smartspider.taskfile.model.values import WRONG_VALUE

_MAX_CHARS = 60
MAX_PROBLEMS = 100
"""Maximum number of reported problems."""
_NOT_A = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}
_BOUNDS = {
    "greater_than_equal": ("is below {}", "ge"),
    "greater_than": ("is not above {}", "gt"),
    "less_than_equal": ("is above {}", "le"),
    "string_too_long": ("is longer than {} characters", "max_length"),
}
_EMPTY = frozenset({"too_short", "string_too_short"})


def task_invalid(problems: Sequence[Problem]) -> TaskInvalid:
    """Return the error for a task with problems; its message contains the first."""
    first = problems[0]
    place = f"{first.path}: " if first.path else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return TaskInvalid(
        f"the task is not valid: {place}{first.message}{more}", tuple(problems), hint=first.hint
    )


def problems_from(error: ValidationError) -> list[Problem]:
    """Return a problem for each mistake. A misspelt required key is not reported as missing, too."""
    details = error.errors(include_url=False)[:MAX_PROBLEMS]
    pairs = [(detail, _problem(detail)) for detail in details]
    unknown = {
        (detail["loc"][:-1], problem.hint) for detail, problem in pairs if detail["type"] == "extra_forbidden"
    }
    return [
        problem
        for detail, problem in pairs
        if detail["type"] != "missing" or (detail["loc"][:-1], did_you_mean(detail["loc"][-1])) not in unknown
    ]


def format_path(parts: Iterable[int | str]) -> str:
    """Return a path such as `selectors.fields.price` or `entry_urls[0]`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def format_value(value: object) -> str:
    """Return a value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"


def _problem(detail: ErrorDetails) -> Problem:
    kind, location, value = detail["type"], detail["loc"], detail["input"]
    path = format_path(visible_path(location))
    if kind == "extra_forbidden":
        return _unknown_key(location, path)
    if kind == "missing":
        return _missing_key(location, path)
    if kind == WRONG_KIND:
        return _wrong_kind(path, value, detail["msg"])
    if "headers" in location[:-1] and location[-1] != "[key]":
        # A header's value may be a secret, and messages are logged.
        return Problem(path, f"the value {_reason(detail)}", _hint(detail).partition(": ")[0])
    return Problem(path, f"{format_value(value)} {_reason(detail)}", _hint(detail))


def visible_path(location: Iterable[int | str]) -> list[int | str]:
    """Return the location of an error without the marks of forms."""
    return [part for part in location if part != "[key]" and not str(part).startswith(MARK)]


def _unknown_key(location: tuple[int | str, ...], path: str) -> Problem:
    section, key = section_at(location), str(location[-1])[:_MAX_CHARS]
    hint = OF_OTHERS.get(key.lower(), "")
    if section and not hint:
        hint = suggestion(key, section, format_path(visible_path(location[:-1])))
    return Problem(path, f"unknown key {key!r}", hint)


def _missing_key(location: tuple[int | str, ...], path: str) -> Problem:
    section, key = section_at(location), str(location[-1])
    return Problem(path, f"the key {key!r} is missing", description(section, key) if section else "")


def _wrong_kind(path: str, value: Any, kinds: str) -> Problem:
    if not isinstance(value, dict):
        return Problem(path, f"{format_value(value)} is not an object", f"an object with 'type': {kinds}")
    if "type" not in value:
        return Problem(f"{path}.type", "the key 'type' is missing", f"one of {kinds}")
    kind = value["type"]
    return Problem(
        f"{path}.type", f"{format_value(kind)} is not one of {kinds}", _meant(kind, kinds.split(", "))
    )


def _reason(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == WRONG_VALUE:
        return detail["msg"]
    if kind in _EMPTY:
        return "is empty"
    if kind in _BOUNDS:
        text, bound = _BOUNDS[kind]
        return text.format(_number(context[bound]))
    if kind == "literal_error":
        return f"is not {_choices(context['expected'])}"
    expected = detail["msg"] if kind == WRONG_FORM else _NOT_A.get(kind)
    return f"is not {expected}" if expected else f"is not valid: {detail['msg']}"


def _choices(expected: str) -> str:
    choices = _words(expected)
    return repr(choices[0]) if len(choices) == 1 else "one of " + ", ".join(choices)


def _words(expected: str) -> list[str]:
    """Split `'a', 'b' or 'c'`, as pydantic lists choices."""
    return [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]


def _hint(detail: ErrorDetails) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == WRONG_VALUE:
        return str(context.get("hint", ""))
    if kind == WRONG_FORM and NESTED in detail["loc"] and detail["loc"][-1] in Rule.model_fields:
        return "an object without 'expr' is read as a nested item; a rule needs 'expr'"
    if kind == "literal_error":
        return _meant(value, _words(context["expected"]))
    if value is None and kind in _NOT_A:
        return "remove the key to use its default"
    return _type_hint(kind, value)


def _type_hint(kind: str, value: object) -> str:
    match kind, value:
        case (("int_type" | "float_type"), str()) if _as_number(value) is not None:
            return f"write {_as_number(value)} without quotes"
        case (("int_type" | "int_from_float"), float()) if value.is_integer():
            return f"write {int(value)}"
        case "bool_type", str() if value.lower() in ("true", "yes", "on", "false", "no", "off"):
            return f"write {str(value.lower() in ('true', 'yes', 'on')).lower()} without quotes"
        case "string_type", bool() | int() | float():
            return f'put it in quotes: "{format_value(value)}"'
        case "list_type", str() | int() | float() | dict():
            return f"put it in a list: [{format_value(value)}]"
        case _:
            return ""


def _as_number(text: str) -> str | None:
    try:
        return _number(float(text))
    except (ValueError, OverflowError):
        return None


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


def _meant(value: object, words: list[str]) -> str:
    near = nearest(value, words) if isinstance(value, str) else None
    return did_you_mean(near) if near else ""
