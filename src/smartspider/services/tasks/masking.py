"""Tasks and their changes as shown to readers who may not see their secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.redaction.masking import mask_body, mask_header, mask_parameter, mask_text
from smartspider.core.redaction.redactor import Redactor
from smartspider.services.tasks.spec_diff import SpecChange

_REQUESTS = frozenset({"entry_urls", "fetch", "follow"})
"""Keys of a task and of a page type that describe requests."""
_HEADERS = "headers"
_PARAMETERS = frozenset({"variables", "each", "values"})
"""Keys whose values are put into URLs, headers and bodies."""
_BY_NAME = frozenset({"layers", "meta", "sinks"})
"""Keys below which only names that say so are secret."""
_STEP = re.compile(r"\[\"((?:[^\"\\]|\\.)*)\"\]|\[\d+\]|([^.\[]+)")
_redactor = Redactor()


def mask_spec(spec: bytes) -> bytes:
    """Return a task as JSON with its secrets masked."""
    return msgspec.json.encode(_mask(msgspec.json.decode(spec)))


def mask_changes(changes: Sequence[SpecChange]) -> list[SpecChange]:
    """Return changes with their secrets masked. The order of keys is no secret."""
    return [
        one
        if one.kind == "reordered"
        else msgspec.structs.replace(
            one, before=_mask_at(one.path, one.before), after=_mask_at(one.path, one.after)
        )
        for one in changes
    ]


def _mask_at(path: str, value: Any) -> Any:
    return _mask_below([quoted or plain for quoted, plain in _STEP.findall(path) if quoted or plain], value)


def _mask_below(names: list[str], value: Any) -> Any:
    """Mask the value at a path of a task or of a page type."""
    if not names:
        return _mask(value)
    first, *below = names
    if not below:
        return _mask_section(first, value)
    if first == "pages":
        return _mask_below(below[1:], value)
    if first in _REQUESTS:
        for index, name in enumerate(below):
            if _is_masked(name):
                return _mask_value(name, below[index + 1 :], value)
        return _mask_request(value)
    return _mask_value(first, below, value) if _is_masked(first) else _mask_urls(value)


def _mask_value(key: str, below: list[str], value: Any) -> Any:
    """Mask a value below one of the keys with secrets."""
    if not below:
        return _mask_part(key, value)
    name = below[-1]
    if key == _HEADERS:
        return mask_header(name, value)
    return _redactor.fields({name: value})[name] if key in _BY_NAME else mask_parameter(name, value)


def _mask(document: Any) -> Any:
    """Mask a task or a page type."""
    if not isinstance(document, dict):
        return _mask_urls(document)
    return {name: _mask_section(name, value) for name, value in document.items()}


def _mask_section(name: str, value: Any) -> Any:
    if name == "pages" and isinstance(value, dict):
        return {page: _mask(rules) for page, rules in value.items()}
    if name in _REQUESTS:
        return _mask_request(value)
    return _mask_part(name, value) if _is_masked(name) else _mask_urls(value)


def _mask_request(value: Any) -> Any:
    """Mask the description of a request."""
    match value:
        case list():
            return [_mask_request(one) for one in value]
        case dict():
            return {
                name: _mask_part(name, one) if _is_masked(name) else _mask_request(one)
                for name, one in value.items()
            }
        case _:
            return _mask_urls(value)


def _is_masked(name: str) -> bool:
    return name in (_HEADERS, "body") or name in _PARAMETERS or name in _BY_NAME


def _mask_part(name: str, value: Any) -> Any:
    """Mask what is below one of the keys with secrets."""
    if name == _HEADERS and isinstance(value, dict):
        return {header: mask_header(header, text) for header, text in value.items()}
    if name in _BY_NAME:
        return _redactor.value(value)
    return mask_parameter(name, value) if name in _PARAMETERS else mask_body(value)


def _mask_urls(value: Any) -> Any:
    match value:
        case str():
            return mask_text(value) if "://" in value else value
        case list():
            return [_mask_urls(one) for one in value]
        case dict():
            return {name: _mask_urls(one) for name, one in value.items()}
        case _:
            return value
