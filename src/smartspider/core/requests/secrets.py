"""Secrets in headers and bodies: `${NAME}` stands for a value that is filled in when the request is sent.

`$${` stands for a literal `${`. Requests are stored, compared and shown with the reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote_plus

from smartspider.core.requests.bodies import FORM, JSON, media_type_of
from smartspider.core.requests.request import Extras

OPENING = "${"
ESCAPED = "$${"
SECRET_NAME = r"[A-Za-z_][A-Za-z0-9_]*"  # noqa: S105 - the pattern of a name
_TOKEN = re.compile(rf"\$\$\{{|\$\{{({SECRET_NAME})\}}")
_MALFORMED = re.compile(rf"(?<!\$)\$\{{(?!{SECRET_NAME}\}})[^}}]{{0,40}}\}}?")

SecretValues = Mapping[str, str]
"""The values of secrets by name."""

_Encode = Callable[[str], str]


def escape_references(text: str) -> str:
    """Return text that `fill_secrets` turns back into itself: a value of a page is no reference."""
    return text.replace(OPENING, ESCAPED)


def escape_values(value: Any) -> Any:
    """Return a JSON value with all its texts escaped."""
    match value:
        case str():
            return escape_references(value)
        case list():
            return [escape_values(each) for each in value]
        case dict():
            return {escape_references(key): escape_values(each) for key, each in value.items()}
        case _:
            return value


def references_in(value: Any) -> Iterator[str]:
    """Yield the names of all references in the texts of a JSON value."""
    match value:
        case str():
            if OPENING in value:
                yield from (found[1] for found in _TOKEN.finditer(value) if found[1])
        case bytes():
            if b"${" in value:
                yield from references_in(value.decode(errors="replace"))
        case Mapping():
            for key, each in value.items():
                yield from references_in(key)
                yield from references_in(each)
        case list() | tuple():
            for each in value:
                yield from references_in(each)


def has_references(value: str | bytes) -> bool:
    """Return whether a header or a body refers to a secret."""
    return any(True for _ in references_in(value))


def malformed_reference(text: str) -> str | None:
    """Return the first `${` that neither names a secret nor is escaped, with what follows; else None."""
    found = _MALFORMED.search(text) if OPENING in text else None
    return None if found is None else found[0]


def names_in_requests(requests: Iterable[Extras]) -> set[str]:
    """Return the names of the secrets in the headers and bodies of requests."""
    distinct = {id(extras): extras for extras in requests}
    return {
        name
        for extras in distinct.values()
        if extras.headers or extras.body
        for part in (*(text for _, text in extras.headers), extras.body or "")
        for name in references_in(part)
    }


def fill_secrets(extras: Extras, values: SecretValues) -> tuple[tuple[tuple[str, str], ...], bytes | None]:
    """Return the headers and the body of a request as they are sent.

    In a body, values are encoded for its media type, so that they cannot change its structure.
    """
    headers = tuple(
        (name, _fill(text, values, _verbatim) if OPENING in text else text) for name, text in extras.headers
    )
    body = extras.body
    if body is not None and b"${" in body:
        encode = _ENCODINGS.get(media_type_of(headers), _verbatim)
        filled = _fill(body.decode("utf-8", "surrogateescape"), values, encode)
        body = filled.encode("utf-8", "surrogateescape")
    return headers, body


def fill_values(value: Any, values: SecretValues) -> Any:
    """Return a JSON value with the secrets in its texts."""
    match value:
        case str():
            return _fill(value, values, _verbatim) if OPENING in value else value
        case list():
            return [fill_values(each, values) for each in value]
        case dict():
            return {key: fill_values(each, values) for key, each in value.items()}
        case _:
            return value


def _fill(text: str, values: SecretValues, encode: _Encode) -> str:
    def put_in(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return OPENING
        return encode(values[name]) if name in values else found[0]

    return _TOKEN.sub(put_in, text)


def _verbatim(value: str) -> str:
    return value


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


_ENCODINGS: dict[str, _Encode] = {JSON: _in_json, FORM: quote_plus}
