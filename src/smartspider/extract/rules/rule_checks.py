"""Check rules: where a type is allowed, and which keys have an effect."""

from __future__ import annotations

from collections.abc import Iterator

from smartspider.core.errors import Problem
from smartspider.core.functions import parse_function
from smartspider.core.pages.rules import (
    FieldRule,
    FirstOf,
    NestedRule,
    NextLinkPagination,
    PagePlan,
    ValueRule,
)
from smartspider.extract.fields.scopes import ScopeKind

_PLACES = {"values": "items that are JSON values", "texts": "items that are texts"}
_EVERYWHERE = frozenset({"regex", "const", "meta"})
_IN_ELEMENTS = frozenset({"css", "xpath", "tables", "links", "markdown"})
"""Types that also work on a part of a page."""


def match_kind(rule: ValueRule) -> ScopeKind:
    """Return the kind of scope that the matches of a rule form."""
    if rule.type in {"css", "xpath"}:
        return "elements"
    return "texts" if rule.type == "regex" else "values"


def scope_mismatch(rule: ValueRule, kind: ScopeKind) -> tuple[str, str] | None:
    """Return why a rule cannot search such a scope, and a hint; None if it can."""
    if kind == "page" or rule.type in _EVERYWHERE:
        return None
    return _misfit_in_elements(rule) if kind == "elements" else _misfit_in_data(rule, kind)


def _misfit_in_elements(rule: ValueRule) -> tuple[str, str] | None:
    if rule.type in _IN_ELEMENTS or rule.within is not None or parse_function(rule.type):
        return None
    if rule.type == "jmespath":
        what = "JMESPath searches JSON, and the items are elements"
        return what, "name the element or ::attr() with the JSON in `in`"
    return f"a rule of type {rule.type!r} applies to the whole page, not to an item", "remove `items`"


def _misfit_in_data(rule: ValueRule, kind: ScopeKind) -> tuple[str, str] | None:
    if rule.type == "jmespath":
        if rule.within is None:
            return None
        return f"`in` looks for elements, and {_PLACES[kind]} have none", "remove `in`"
    instead = "use jmespath or regex" if kind == "values" else "use regex, or jmespath if the text is JSON"
    return f"a rule of type {rule.type!r} cannot search {_PLACES[kind]}", instead


def unused_keys(rule: ValueRule, path: str) -> Iterator[Problem]:
    """Yield a problem for each key of a field rule without effect."""
    if rule.within is not None and rule.type != "jmespath":
        yield Problem(f"{path}.in", "`in` belongs to rules of type jmespath", "leave it out")
    if rule.attr is not None and rule.type not in {"css", "xpath"}:
        yield Problem(f"{path}.attr", f"a rule of type {rule.type!r} finds no elements with attributes")
    if rule.type in {"const", "meta"}:
        for key in ("join", "fields"):
            if getattr(rule, key):
                yield Problem(f"{path}.{key}", f"`{key}` has no effect in a rule of type {rule.type!r}")
    elif rule.fields:
        yield from _idle_beside_fields(rule, path)


def _idle_beside_fields(rule: ValueRule, path: str) -> Iterator[Problem]:
    hints = {"attr": "", "join": "objects cannot be joined", "steps": "put the steps into the fields"}
    for key, hint in hints.items():
        if getattr(rule, key):
            yield Problem(f"{path}.{key}", f"`{key}` has no effect together with `fields`", hint)


def unused_item_keys(rule: ValueRule, path: str) -> Iterator[Problem]:
    """Yield a problem for each key of an items rule without effect."""
    if rule.within is not None and rule.type != "jmespath":
        yield Problem(f"{path}.in", "`in` belongs to rules of type jmespath", "leave it out")
    for key in ("attr", "join", "steps", "fields", "required", "default"):
        if getattr(rule, key):
            yield Problem(f"{path}.{key}", f"`{key}` has no effect in `items`", "use it in `fields`")


def all_rules(plan: PagePlan) -> Iterator[ValueRule]:
    """Yield every rule of a page type."""
    yield from plan.items
    for field in plan.fields.values():
        yield from _rules_in(field)
    for follow in plan.follow:
        yield follow.rule
    if isinstance(plan.pagination, NextLinkPagination):
        yield plan.pagination.rule


def _rules_in(rule: FieldRule) -> Iterator[ValueRule]:
    match rule:
        case FirstOf(rules=rules):
            for inner in rules:
                yield from _rules_in(inner)
        case NestedRule(fields=fields):
            for inner in fields.values():
                yield from _rules_in(inner)
        case ValueRule(fields=fields):
            yield rule
            for inner in fields.values():
                yield from _rules_in(inner)
