"""Find lists of objects in JSON values, with JMESPath and field names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from smartspider.suggest.html.class_names import split_words
from smartspider.suggest.text_kinds import classify_all
from smartspider.suggest.vocabulary import SITE_KEYS

MAX_LEVELS = 14
MAX_VALUES = 300_000
MAX_PATHS = 3000
MAX_FIELDS = 40
SAMPLE = 50
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_GENERIC = frozenset(
    "name value amount text label title display raw formatted content url src href item node id".split()
)
_HIDDEN = frozenset(("@context", "@type", "@id", "__typename", "$type"))
_LONGEST_NAME = 50


class JsonList(NamedTuple):
    """A list of objects: its JMESPath, some of the objects, its fields and its score."""

    expr: str
    rows: list[dict[str, Any]]
    size: int
    fields: dict[str, str]
    """JMESPath by field name."""
    score: float


def json_lists(value: Any) -> list[JsonList]:
    """Return all lists of objects in a value, best first."""
    found = []
    for expr, rows in _object_lists(value):
        fields = _fields(rows[:SAMPLE])
        if fields:
            found.append(JsonList(expr, rows[:SAMPLE], len(rows), _named(fields), _score(expr, rows, fields)))
    return sorted(found, key=lambda one: -one.score)


def quote_key(name: str) -> str:
    """Quote a key for JMESPath if needed."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _object_lists(value: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the paths of lists of objects, level by level; nested lists are flattened."""
    level: list[tuple[str, list[Any]]] = [("", [value])]
    looked = paths = 0
    for _ in range(MAX_LEVELS):
        below: list[tuple[str, list[Any]]] = []
        for path, values in level:
            looked += len(values)
            paths += 1
            if looked > MAX_VALUES or paths > MAX_PATHS:
                return
            lists = [one for one in values if isinstance(one, list)]
            objects = [one for one in values if isinstance(one, dict)]
            if lists:
                flat = [one for some in lists for one in some]
                rows = [one for one in flat if isinstance(one, dict)]
                if len(rows) >= 2 and len(rows) * 5 >= len(flat) * 4:
                    yield (path or "@") if len(lists) == 1 and len(values) == 1 else f"{path}[]", rows
                below.append((f"{path}[]", flat))
            if objects:
                yield from _by_id(path, objects)
                below.extend(_inside(path, objects))
        level = [one for one in below if one[1]]
        if not level:
            return


def _by_id(path: str, objects: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Treat an object whose keys are ids and whose values are similar as a list."""
    if len(objects) != 1 or len(objects[0]) < 3:
        return
    values = list(objects[0].values())
    rows = [one for one in values if isinstance(one, dict)]
    keys = list(objects[0])
    if len(rows) == len(values) and sum(any(c.isdigit() for c in key) for key in keys) * 2 >= len(keys):
        yield f"{path}.*" if path else "*", rows


def _inside(path: str, objects: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    keys: dict[str, list[Any]] = {}
    for one in objects:
        for key, inner in one.items():
            if isinstance(inner, (dict, list)) and len(keys) < 500 and len(key) <= _LONGEST_NAME:
                keys.setdefault(key, []).append(inner)
    for key, values in keys.items():
        yield f"{path}.{quote_key(key)}" if path else quote_key(key), values


def _fields(rows: list[dict[str, Any]]) -> dict[tuple[str, ...], list[Any]]:
    """Return simple values of the objects by path, in order of appearance."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        _collect(row, (), found)
    least = max(1, len(rows) // 10)
    kept = {way: values for way, values in found.items() if len(values) >= least}
    shallow = sorted(kept.items(), key=lambda entry: len(entry[0]))[:MAX_FIELDS]
    ways = {way for way, _ in shallow}
    return {way: values for way, values in kept.items() if way in ways}


def _collect(value: dict[str, Any], way: tuple[str, ...], found: dict[tuple[str, ...], list[Any]]) -> None:
    for key, found_value in list(value.items())[:100]:
        if key in _HIDDEN or len(key) > _LONGEST_NAME or len(found) > 400:
            continue
        here, inner = (*way, quote_key(key)), found_value
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            if len(inner) > 1:  # a separate list; only the name of its first entry is used
                inner = [{name: one for name, one in inner[0].items() if name in _GENERIC}]
            here, inner = (*way, f"{quote_key(key)}[0]"), inner[0]
        if isinstance(inner, dict):
            if len(way) < 3:
                _collect(inner, here, found)
        elif inner not in (None, "", []):
            found.setdefault(here, []).append(inner)


def _score(expr: str, rows: list[dict[str, Any]], fields: dict[tuple[str, ...], list[Any]]) -> float:
    count = min(len(rows), SAMPLE)
    worth = 0.0
    for way, values in fields.items():
        if any(key.endswith("[0]") for key in way):
            continue  # part of a separate list
        texts = {_brief(value) for value in values}
        worth += min(1.0, len(values) / count) * (0.2 + 0.8 * len(texts) / len(values)) * 0.8
    words = {word for part in re.split(r"[.\[\]\"]+", expr) for word in split_words(part)}
    place = 0.25 if words & SITE_KEYS else 1.0
    depth = expr.count("[]")
    return float(worth**0.9 * math.log2(1 + min(len(rows), 200)) * place * 0.6**depth)


def _brief(value: Any) -> str:
    return (
        value[:200] if isinstance(value, str) else str(value if not isinstance(value, list) else len(value))
    )


def _named(fields: dict[tuple[str, ...], list[Any]]) -> dict[str, str]:
    """Name fields by the last key, prefixed with the one before if the last is generic or taken."""
    named: dict[str, str] = {}
    for way in sorted(fields, key=len):
        words = ["_".join(split_words(re.sub(r"\[0\]|\"", "", part))) or "field" for part in way]
        for name in _wishes(words):
            if name not in named:
                named[name] = ".".join(way)
                break
    order = [".".join(way) for way in fields]
    return dict(sorted(named.items(), key=lambda entry: order.index(entry[1])))


def _wishes(words: list[str]) -> Iterator[str]:
    if len(words) == 1:
        yield words[0]
    elif words[-1] in _GENERIC and words[-2] not in _GENERIC:
        if words[-1] not in {"id", "url", "src", "href"}:
            yield words[-2]
        elif words[-2] in {"image", "images", "photo", "photos", "thumbnail", "cover", "media", "picture"}:
            yield words[-2].removesuffix("s")
        yield "_".join(words[-2:])
    else:
        yield words[-1]
        yield "_".join(words[-2:])
    yield "_".join(words)
    for number in range(2, 50):
        yield f"{'_'.join(words[-2:])}_{number}"


def choose_steps(values: list[Any]) -> list[str]:
    """Return the steps for the values of a field."""
    texts = [value for value in values if isinstance(value, str)]
    if not texts or len(texts) < len(values):
        return []
    kind = classify_all(texts)
    return {"date": ["date"], "price": ["number"], "url": ["url"]}.get(kind, [])
