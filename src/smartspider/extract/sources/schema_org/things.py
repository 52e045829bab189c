"""Read schema.org objects from JSON-LD and microdata."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.values import to_absolute_url

Thing = dict[str, Any]

_TAG = re.compile(r"<[a-zA-Z/!][^<>]{0,500}>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{2,30});")
_FIGURE = re.compile(r"[-+]?\d[\d.,'\u00a0\u202f ]{0,40}")
_SPACING = re.compile(r"['\u00a0\u202f ]")


class ThingGraph:
    """The objects of a page, which may refer to each other by `@id`."""

    def __init__(self, things: list[Thing]) -> None:
        self.things = things
        self._by_id: dict[str, Thing] = {}
        for thing in things:
            key = thing.get("@id")
            if isinstance(key, str) and len(thing) > 1:
                self._by_id.setdefault(key, thing)

    def resolve_reference(self, value: Any) -> Any:
        """Resolve a value that is only a reference; return other values unchanged."""
        if isinstance(value, dict) and isinstance(value.get("@id"), str) and value.keys() <= {"@id", "@type"}:
            return self._by_id.get(value["@id"], value)
        return value

    def each(self, value: Any) -> Iterator[Any]:
        """Yield the value, or each of several, with references resolved."""
        for inner in value if isinstance(value, list) else [value]:
            if inner is not None:
                yield self.resolve_reference(inner)

    def objects(self, value: Any) -> Iterator[Thing]:
        """Yield the objects among the values."""
        return (inner for inner in self.each(value) if isinstance(inner, dict))

    def first(self, value: Any) -> Any:
        """Return the first of several values, or the value."""
        return next(self.each(value), None)

    def name(self, value: Any) -> str | None:
        """Return the first text, or the name of the first object."""
        for inner in self.each(value):
            found = text(inner.get("name") if isinstance(inner, dict) else inner)
            if found:
                return found
        return None

    def image(self, value: Any, base: str) -> str | None:
        """Return the URL of the first image."""
        for inner in self.each(value):
            is_object = isinstance(inner, dict)
            named = inner.get("contentUrl") or inner.get("url") or inner.get("@id") if is_object else inner
            address = to_absolute_url(self.first(named), base)
            if address is not None:
                return address
        return None


def types_of(thing: Thing) -> set[str]:
    """Return the type names of an object, without their vocabulary."""
    kinds = thing.get("@type")
    return {
        kind.strip().rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2]
        for kind in (kinds if isinstance(kinds, list) else [kinds])
        if isinstance(kind, str)
    }


def text(value: Any) -> str | None:
    """Return a value as collapsed plain text; None if there is none."""
    if isinstance(value, dict):
        value = value.get("@value")
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    plain = str(value)
    if _TAG.search(plain) or _ENTITY.search(plain):
        from smartspider.extract.sources.values import strip_html

        plain = strip_html(plain)
    return collapse(plain) or None


def number(value: Any) -> int | float | None:
    """Return the number of a value, or the first in it; of two separators the last is the decimal one."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value if math.isfinite(value) and abs(value) < 1e15 else None
    if not isinstance(value, str):
        return None
    found = _FIGURE.search(value[:200])
    return _figure(_SPACING.sub("", found[0]).rstrip(".,")) if found is not None else None


def _figure(figure: str) -> int | float | None:
    comma, point = figure.rfind(","), figure.rfind(".")
    if comma >= 0 and point >= 0:
        thousands, decimal = (",", ".") if point > comma else (".", ",")
    elif comma >= 0:
        is_thousands = figure.count(",") > 1 or len(figure) - comma == 4
        thousands, decimal = (",", ".") if is_thousands else (".", ",")
    else:
        thousands, decimal = (".", ",") if figure.count(".") > 1 else (",", ".")
    plain = figure.replace(thousands, "").replace(decimal, ".")
    try:
        value = float(plain)
    except ValueError:
        return None
    if abs(value) >= 1e15:
        return None
    return int(value) if "." not in plain else value


def last_word(value: Any) -> str | None:
    """Return `InStock` from `https://schema.org/InStock`."""
    found = text(value)
    return found.rstrip("/").rpartition("/")[2] or None if found is not None else None
