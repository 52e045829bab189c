"""Templates: `{name}` in a text stands for a value; braces around anything else stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_ABSENT = object()

Values = Mapping[str, Any]
"""What names stand for. `seller.name` is the `name` of the object `seller`."""


def names_in(template: Any) -> Iterator[str]:
    """Everything in braces, in all texts of a value of plain JSON; also what no value is known for."""
    if isinstance(template, str):
        yield from (found[1] for found in _TEMPLATE.finditer(template))
    elif isinstance(template, Mapping):
        for inner in template.values():
            yield from names_in(inner)
    elif isinstance(template, list | tuple):
        for inner in template:
            yield from names_in(inner)


def fill_text(template: str, values: Values) -> str:
    """The text with values put in as they are."""
    return _fill(template, values, _as_text)


def fill_url(template: str, values: Values) -> str:
    """The URL with values percent-encoded, so that none can change its form; one that it begins with is
    the beginning of a URL, and stays as it is.
    """
    if "{" not in template:
        return template
    first = _TEMPLATE.match(template)
    value = _ABSENT if first is None else _value(values, first[1])
    if first is None or value is _ABSENT:
        return _fill(template, values, _in_url)
    return _as_text(value) + _fill(template[first.end() :], values, _in_url)


def fill_form(template: str, values: Values) -> str:
    """The body of a form with values encoded."""
    return _fill(template, values, lambda value: quote_plus(_as_text(value)))


def fill_header(template: str, values: Values) -> str:
    """The header with values put in; line breaks and other control characters of theirs are spaces."""
    return _fill(template, values, lambda value: _CONTROLS.sub(" ", _as_text(value)).strip())


def fill_json(template: Any, values: Values) -> Any:
    """Plain JSON with values in its texts. A text that is one template and nothing else becomes the value
    itself, a number or an object as well.
    """
    if isinstance(template, str):
        whole = _TEMPLATE.fullmatch(template)
        value = _ABSENT if whole is None else _value(values, whole[1])
        return fill_text(template, values) if value is _ABSENT else value
    if isinstance(template, Mapping):
        return {key: fill_json(inner, values) for key, inner in template.items()}
    if isinstance(template, list | tuple):
        return [fill_json(inner, values) for inner in template]
    return template


def _fill(template: str, values: Values, written: Callable[[Any], str]) -> str:
    if "{" not in template:
        return template

    def put_in(found: re.Match[str]) -> str:
        value = _value(values, found[1])
        return found[0] if value is _ABSENT else written(value)

    return _TEMPLATE.sub(put_in, template)


def _value(values: Values, name: str) -> Any:
    if name in values:
        return values[name]
    place: Any = values
    for part in name.split("."):
        if not isinstance(place, Mapping) or part not in place:
            return _ABSENT
        place = place[part]
    return place


def _as_text(value: Any) -> str:
    """A value inside a text: null is empty, lists and objects are JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _in_url(value: Any) -> str:
    return quote(_as_text(value), safe="")
