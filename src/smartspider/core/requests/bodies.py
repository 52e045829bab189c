"""Request bodies and query strings: encoding, and setting single values."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote_plus

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

Headers = tuple[tuple[str, str], ...]


def json_body(value: Any) -> bytes:
    """Return compact JSON with keys in their original order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def media_type_of(headers: Headers) -> str:
    """Return the media type in a request's Content-Type header, or an empty string."""
    given = next((value for name, value in headers if name.lower() == "content-type"), "")
    return given.partition(";")[0].strip().lower()


def with_content_type(kind: str, headers: Headers) -> Headers:
    """Return the headers with this content type, unless they already have one."""
    return headers if media_type_of(headers) else (*headers, ("Content-Type", kind))


def with_value(body: bytes | None, headers: Headers, path: str, value: Any) -> bytes | None:
    """Return the body with a value set: a form key, or a path such as `a.b` in JSON, creating missing
    objects.

    A missing body counts as an empty object. Return None if the body is neither form nor JSON.
    """
    if body and media_type_of(headers) == FORM:
        text = value if isinstance(value, str) else json.dumps(value)
        return with_param(body.decode(errors="replace"), path, text).encode()
    try:
        whole = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return None
    *above, last = path.split(".")
    place: Any = whole
    for name in above:
        if not isinstance(place, dict):
            return None
        if place.get(name) is None:
            place[name] = {}
        place = place[name]
    if not isinstance(place, dict):
        return None
    place[last] = value
    return json_body(whole)


def value_at(body: bytes | None, path: str) -> Any:
    """Return the value at a path of a JSON body, or None."""
    try:
        place: Any = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None
    for name in path.split("."):
        place = place.get(name) if isinstance(place, dict) else None
    return place


def param_of(url: str, name: str) -> str | None:
    """Return the first value of a query parameter of a normalized URL, or None."""
    for part in url.partition("?")[2].split("&"):
        key, _, value = part.partition("=")
        if unquote_plus(key) == name:
            return unquote_plus(value)
    return None


def with_url_param(url: str, name: str, value: str) -> str:
    """Return a normalized URL with a query parameter set."""
    path, _, query = url.partition("?")
    return f"{path}?{with_param(query, name, value)}"


def with_param(query: str, name: str, value: str) -> str:
    """Return a query with a parameter set, in place or at the end. Other parameters keep their order and
    spelling; duplicates of this one are removed.
    """
    written = f"{quote(name, safe='[]')}={quote(value, safe='')}"
    parts: list[str] = []
    is_put = False
    for part in query.split("&") if query else []:
        if unquote_plus(part.partition("=")[0]) != name:
            parts.append(part)
        elif not is_put:
            is_put = True
            parts.append(written)
    return "&".join(parts if is_put else [*parts, written])
