"""Bodies of requests: how JSON and forms are written, and how one value in them is changed."""

from __future__ import annotations

import json
from typing import Any

from smartspider.core.queries import with_param

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
