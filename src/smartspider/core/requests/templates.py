"""Templates: `{name}` is replaced by a value; other braces are literal.

In headers and bodies `${NAME}` refers to a secret and stays as it is; a value that looks like one is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from smartspider.core.requests.secrets import OPENING, SECRET_NAME, escape_references, escape_values

_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_SENT = re.compile(rf"(\$\$\{{)|(\$\{{{SECRET_NAME}\}})|\{{([^{{}}]+)\}}")
"""An escaped reference, a reference to a secret, or a template."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_ABSENT = object()

Values = Mapping[str, Any]
"""Values by name. `seller.name` is the key `name` of the object `seller`."""


def placeholders_in(template: Any) -> Iterator[str]:
    """Yield all names in braces in the strings of a JSON value, known or not."""
    if isinstance(template, str):
        yield from (found[1] for found in _TEMPLATE.finditer(template))
    elif isinstance(template, Mapping):
        for inner in template.values():
            yield from placeholders_in(inner)
    elif isinstance(template, list | tuple):
        for inner in template:
            yield from placeholders_in(inner)


def fill_text(template: str, values: Values) -> str:
    """Return the text with values inserted verbatim."""
    return _fill(template, values, _as_text)


def fill_url(template: str, values: Values) -> str:
    """Return the URL with values percent-encoded, so that they cannot change its structure. A value at the
    start is part of the URL itself and is inserted verbatim.
    """
    if "{" not in template:
        return template
    first = _TEMPLATE.match(template)
    value = _ABSENT if first is None else _value(values, first[1])
    if first is None or value is _ABSENT:
        return _fill(template, values, _in_url)
    return _as_text(value) + _fill(template[first.end() :], values, _in_url)


def fill_body(template: str, values: Values) -> str:
    """Return the text body with values inserted verbatim."""
    return _fill_sent(template, values, _as_text)


def fill_form(template: str, values: Values) -> str:
    """Return the form body with values URL-encoded."""
    return _fill_sent(template, values, lambda value: quote_plus(_as_text(value)))


def fill_header(template: str, values: Values) -> str:
    """Return the header with values inserted; control characters in them become spaces."""
    return _fill_sent(template, values, lambda value: _CONTROLS.sub(" ", _as_text(value)).strip())


def fill_json(template: Any, values: Values) -> Any:
    """Return JSON with values inserted into its strings. A string that is a single template becomes the value
    itself, whatever its type.
    """
    return _fill_json(template, values, fill_text, lambda value: value)


def fill_json_body(template: Any, values: Values) -> Any:
    """Return the JSON of a body, filled like `fill_json`."""
    return _fill_json(template, values, fill_body, escape_values)


def _fill_json(
    template: Any, values: Values, fill: Callable[[str, Values], str], whole: Callable[[Any], Any]
) -> Any:
    if isinstance(template, str):
        found = _TEMPLATE.fullmatch(template)
        value = _ABSENT if found is None else _value(values, found[1])
        return fill(template, values) if value is _ABSENT else whole(value)
    if isinstance(template, Mapping):
        return {key: _fill_json(inner, values, fill, whole) for key, inner in template.items()}
    if isinstance(template, list | tuple):
        return [_fill_json(inner, values, fill, whole) for inner in template]
    return template


def _fill(template: str, values: Values, written: Callable[[Any], str]) -> str:
    if "{" not in template:
        return template

    def put_in(found: re.Match[str]) -> str:
        value = _value(values, found[1])
        return found[0] if value is _ABSENT else written(value)

    return _TEMPLATE.sub(put_in, template)


def _fill_sent(template: str, values: Values, written: Callable[[Any], str]) -> str:
    """Fill a template that `fill_secrets` reads later: text between references is escaped as a whole, so that
    values cannot form a reference.
    """
    if "{" not in template:
        return template
    parts: list[str] = []
    plain: list[str] = []
    end = 0
    for found in _SENT.finditer(template):
        plain.append(template[end : found.start()])
        end = found.end()
        escaped, secret, name = found.groups()
        if secret is not None:
            parts += (escape_references("".join(plain)), secret)
            plain.clear()
        elif escaped is not None:
            plain.append(OPENING)
        else:
            value = _value(values, name)
            plain.append(found[0] if value is _ABSENT else written(value))
    return "".join((*parts, escape_references("".join(plain) + template[end:])))


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
    """Return a value as text: null is empty, lists and objects are JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _in_url(value: Any) -> str:
    return quote(_as_text(value), safe="")
