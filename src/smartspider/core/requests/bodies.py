"""Bodies of requests: how JSON and forms are written, and how one value in them is changed."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote_plus

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

Headers = tuple[tuple[str, str], ...]


def json_body(value: Any) -> bytes:
    """JSON as it is sent: compact, in the order it was written."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def media_type_of(headers: Headers) -> str:
    """What the headers of a request say its body is; empty when they do not."""
    given = next((value for name, value in headers if name.lower() == "content-type"), "")
    return given.partition(";")[0].strip().lower()


def said_to_be(kind: str, headers: Headers) -> Headers:
    """The headers with this content type, unless they name one."""
    return headers if media_type_of(headers) else (*headers, ("Content-Type", kind))


def with_value(body: bytes | None, headers: Headers, path: str, value: Any) -> bytes | None:
    """The body with a value at a path: a key of a form, or `a.b` of JSON, where objects that lack are made.

    No body counts as an empty object. None when the body is neither.
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
    """What stands at a path of a JSON body, or None."""
    try:
        place: Any = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None
    for name in path.split("."):
        place = place.get(name) if isinstance(place, dict) else None
    return place


def param_of(url: str, name: str) -> str | None:
    """The value of the first parameter with this name in a normal URL, or None."""
    for part in url.partition("?")[2].split("&"):
        key, _, value = part.partition("=")
        if unquote_plus(key) == name:
            return unquote_plus(value)
    return None


def with_url_param(url: str, name: str, value: str) -> str:
    """A normal URL in which a parameter has this value."""
    path, _, query = url.partition("?")
    return f"{path}?{with_param(query, name, value)}"


def with_param(query: str, name: str, value: str) -> str:
    """A query in which a parameter has this value: in its place, or at the end. All others keep their order
    and spelling; a second one of the same name goes.
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
