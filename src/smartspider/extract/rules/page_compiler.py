"""Compile a page type for one engine."""

from __future__ import annotations

from typing import NamedTuple

from smartspider.core.errors import Problem
from smartspider.core.pages.rules import (
    EXPRESSIONS,
    CursorPagination,
    FollowRule,
    NextLinkPagination,
    PagePlan,
    ValueRule,
)
from smartspider.core.requests.request import DEFAULT_PAGE
from smartspider.extract.fields.columns import FieldColumn, ScopeFinder
from smartspider.extract.fields.scopes import PAGE, ScopeKind
from smartspider.extract.links.page_links import FollowLinks, LinkFinder, PageLinks
from smartspider.extract.rules.engine import Engine, LinkKind
from smartspider.extract.rules.rule_checks import match_kind, unused_item_keys
from smartspider.extract.rules.rule_compiler import RuleCompiler, StepChains


class ItemsRule(NamedTuple):
    """A rule that finds items, and the kind of its matches."""

    finder: ScopeFinder
    kind: ScopeKind


class PageRules(NamedTuple):
    """The compiled rules of a page type. Without `items` the page is one item; without fields it has none."""

    items: tuple[ItemsRule, ...]
    fields: dict[ScopeKind, dict[str, FieldColumn]]
    """The fields for each kind of item."""
    links: PageLinks | None


class PageCompiler:
    """Compiles one page type and collects its problems."""

    def __init__(self, plan: PagePlan, engine: Engine, chains: StepChains, max_links: int) -> None:
        self._plan = plan
        self._prefix = "" if plan.name == DEFAULT_PAGE else f"pages.{plan.name}."
        self._rules = RuleCompiler(engine, chains)
        self._max_links = max_links

    @property
    def problems(self) -> list[Problem]:
        """The problems, in task order."""
        return list(self._rules.problems.values())

    def compile(self) -> PageRules:
        """Compile the rules; do not use the result if there are problems."""
        items = self._items()
        kinds = list(dict.fromkeys(match_kind(rule) for rule in self._plan.items)) or [PAGE]
        fields = {kind: self._fields(kind) for kind in kinds}
        for mismatches in self._rules.mismatches.values():
            if len(mismatches) == len(kinds):
                self._rules.add_problems(mismatches[0])
        return PageRules(items, fields, self._links(kinds))

    def _items(self) -> tuple[ItemsRule, ...]:
        found = []
        for number, rule in enumerate(self._plan.items):
            path = f"{self._prefix}selectors.items" + (f"[{number}]" if len(self._plan.items) > 1 else "")
            unused = list(unused_item_keys(rule, path))
            self._rules.add_problems(*unused)
            finder = None if unused else self._rules.finder(rule, path, PAGE)
            if finder is not None:
                found.append(ItemsRule(finder, match_kind(rule)))
        return tuple(found)

    def _fields(self, kind: ScopeKind) -> dict[str, FieldColumn]:
        columns = {
            name: self._rules.field(rule, f"{self._prefix}selectors.fields.{name}", name, kind)
            for name, rule in self._plan.fields.items()
        }
        return {name: column for name, column in columns.items() if column is not None}

    def _links(self, kinds: list[ScopeKind]) -> PageLinks | None:
        plan = self._plan
        if not plan.follow and plan.pagination is None:
            return None
        follows = tuple(self._follow(follow, number, kinds) for number, follow in enumerate(plan.follow))
        return PageLinks(plan, follows, self._next_link(), self._max_links)

    def _follow(self, follow: FollowRule, number: int, kinds: list[ScopeKind]) -> FollowLinks:
        path = f"{self._prefix}follow[{number}].selector"
        is_in_items = self._is_in_items(follow)
        is_href = follow.request is None or follow.request.url is None
        link = LinkKind(is_href, self._plan.obeys_nofollow)
        finders: dict[ScopeKind, LinkFinder] = {}
        for kind in kinds if is_in_items else [PAGE]:
            finder = self._rules.links(follow.rule, path, kind, link)
            if finder is not None:
                finders[kind] = finder
        return FollowLinks(follow, finders, is_in_items=is_in_items)

    def _is_in_items(self, follow: FollowRule) -> bool:
        """Return True if the links are searched in items: because they carry fields, or because the items are
        data and the page is not JSON, as with a feed.
        """
        items = self._plan.items
        is_data = all(rule.type not in EXPRESSIONS or rule.within is not None for rule in items)
        is_asked_of_data = follow.rule.type == "jmespath" and is_data
        return bool(items) and (bool(follow.carry) or follow.request is not None or is_asked_of_data)

    def _next_link(self) -> LinkFinder | None:
        pagination = self._plan.pagination
        if isinstance(pagination, CursorPagination):
            # Evaluated by `pagination.py`; only checked here.
            rule, link = ValueRule("jmespath", pagination.expr), LinkKind(is_href=False, obeys_nofollow=False)
            self._rules.links(rule, f"{self._prefix}pagination.expr", PAGE, link)
        if not isinstance(pagination, NextLinkPagination):
            return None
        path = f"{self._prefix}pagination.selector"
        link = LinkKind(is_href=True, obeys_nofollow=self._plan.obeys_nofollow)
        return self._rules.links(pagination.rule, path, PAGE, link)
