"""Single parameters of a query, the rest left as it is written."""

from __future__ import annotations

from urllib.parse import quote, unquote_plus


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
