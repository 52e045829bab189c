"""Known keys of each section, for hints about misspelt and misplaced keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import Tag

from smartspider.taskfile.model.forms import MARK, Section
from smartspider.taskfile.model.pages import Selectors
from smartspider.taskfile.model.rules import FieldRule, Step
from smartspider.taskfile.model.task import Task

_PROXY = "`smartspider proxy add URL --pool NAME` and fetch.proxy_pool, or SMARTSPIDER_PROXY for all requests"
_COOKIE = "`smartspider cookie upload --domain DOMAIN FILE` stores a login, and use_cookie sends it"
WORKS_TODAY = {"account_pool": _COOKIE}
"""Hints for keys that are not supported yet, which name what works today."""
OF_OTHERS = {
    **dict.fromkeys(("proxy", "proxies", "proxy_url", "http_proxy", "https_proxy"), _PROXY),
    **dict.fromkeys(("cookie", "cookies"), _COOKIE),
}
"""Keys of other programs, and what serves instead."""
_SURE = 0.8
_LIKELY = 0.6
_MAX_DEPTH = 4


def section_at(location: tuple[int | str, ...]) -> type[Section] | None:
    """Return the section that contains the last key of an error location."""
    place: Any = Task
    for step in location[:-1]:
        place = _inside(place, step)
    place = _plain(place)
    return place if _is_section(place) else None


def known_keys(section: type[Section]) -> list[str]:
    """Return the keys of a section as written in a task."""
    return [field.alias or name for name, field in section.model_fields.items()]


def description(section: type[Section], key: str) -> str:
    """Return the description of a key."""
    texts = {field.alias or name: field.description for name, field in section.model_fields.items()}
    return texts.get(key) or ""


def nearest(word: str, words: Iterable[str], *, at_least: float = _LIKELY) -> str | None:
    """Return the most similar word, or None if none is similar."""
    best = max(words, key=lambda other: _likeness(word, other), default=None)
    return best if best is not None and _likeness(word, best) >= at_least else None


def did_you_mean(word: object) -> str:
    """Return a hint that names a similar word."""
    return f"did you mean {word!r}?"


def suggestion(key: str, section: type[Section], path: str) -> str:
    """Return the hint for an unknown key: a similar key, or where the key belongs."""
    here = known_keys(section)
    if near := nearest(key, here, at_least=_SURE):
        return did_you_mean(near)
    prefix = f"{path}." if path else ""
    if places := [prefix + place for place in _places(section, key)] or _places(Task, key):
        return f"{key!r} belongs in " + " or ".join(map(repr, list(dict.fromkeys(places))[:3]))
    elsewhere = _all_keys()
    if near := nearest(key, elsewhere, at_least=_SURE):
        return did_you_mean(elsewhere[near])
    if near := nearest(key, here):
        return did_you_mean(near)
    if section is Selectors:
        return f"a field belongs in {path + '.fields'!r}"
    return "known keys here: " + ", ".join(here)


def last_key(path: str) -> str:
    """Return `expr` for `selectors.items.expr`."""
    return path.rpartition(".")[2]


def _likeness(word: str, other: str) -> float:
    """Return the similarity from 0 to 1. A prefix or suffix, such as `delay` for `delay_s`, always counts as
    similar.
    """
    word, other = _folded(word), _folded(other)
    if other.startswith(word + "_") or other.endswith("_" + word):
        return max(_SURE, SequenceMatcher(None, word, other).ratio())
    return SequenceMatcher(None, word, other).ratio()


@cache
def _all_keys() -> dict[str, str]:
    """Return every key of the task file with its shallowest path."""
    return {last_key(place): place for _, place in sorted(_all_places(Task), reverse=True)}


def _places(section: type[Section], key: str) -> list[str]:
    found = [(depth, place) for depth, place in _all_places(section) if last_key(place) == key]
    shallowest = min((depth for depth, _ in found), default=0)
    return [place for depth, place in found if depth == shallowest]


def _all_places(section: type[Section], prefix: str = "", depth: int = 1) -> Iterator[tuple[int, str]]:
    for name, field in section.model_fields.items():
        key = prefix + (field.alias or name)
        for suffix, child in _sections_in(field.annotation, frozenset()):
            if child is Step:
                continue
            for inner in known_keys(child):
                yield depth, f"{key}{suffix}.{inner}"
            if depth < _MAX_DEPTH:
                yield from _all_places(child, f"{key}{suffix}.", depth + 1)


def _sections_in(place: Any, seen: frozenset[str], suffix: str = "") -> Iterator[tuple[str, type[Section]]]:
    place = _plain(place)
    if place is FieldRule:
        if "FieldRule" in seen:
            return
        seen, place = seen | {"FieldRule"}, _plain(FieldRule.__value__)
    if _is_section(place):
        yield suffix, place
    elif _is_union(place):
        for member in get_args(place):
            yield from _sections_in(member, seen, suffix)
    elif get_origin(place) is list:
        yield from _sections_in(get_args(place)[0], seen, suffix + "[]")
    elif get_origin(place) is dict:
        yield from _sections_in(get_args(place)[1], seen, suffix + ".NAME")


def _inside(place: Any, step: int | str) -> Any:
    """Return the type that a step of a location leads to, or None."""
    place = _plain(place)
    if place is FieldRule:
        place = _plain(FieldRule.__value__)
    if isinstance(step, str) and step.startswith(MARK):
        return _marked(place, step)
    if _is_section(place):
        fields = {field.alias or name: field.annotation for name, field in place.model_fields.items()}
        return fields.get(str(step))
    if _is_union(place):
        return next((_inside(member, step) for member in get_args(place) if member is not NoneType), None)
    return get_args(place)[-1] if get_origin(place) in (list, dict) else None


def _marked(place: Any, mark: str) -> Any:
    for member in get_args(place) if _is_union(place) else ():
        if get_origin(member) is Annotated:
            if any(isinstance(extra, Tag) and extra.tag == mark for extra in get_args(member)[1:]):
                return member
            if (found := _marked(_plain(member), mark)) is not None:
                return found
    return None


def _plain(place: Any) -> Any:
    """Return a type without annotations, with forward references resolved."""
    if place == "FieldRule":
        return FieldRule
    return _plain(get_args(place)[0]) if get_origin(place) is Annotated else place


def _is_section(place: Any) -> bool:
    return isinstance(place, type) and issubclass(place, Section)


def _is_union(place: Any) -> bool:
    return get_origin(place) in (Union, UnionType)


def _folded(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")
