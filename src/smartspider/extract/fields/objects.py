"""Lists of objects: the fields are searched in each match of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.columns import ItemState, NestedColumn, RuleColumn
from smartspider.extract.fields.scopes import SearchScope
from smartspider.extract.parsing.document import Document


class ScopeFinder(Protocol):
    """A rule whose matches are searched in turn: items, or objects of a field."""

    def find(self, scope: Any) -> list[list[Any]]:
        """Return the matches per entry of the scope, in order."""

    def scope(self, document: Document, found: list[Any], numbers: Sequence[int]) -> SearchScope:
        """Return the matches as a scope."""


class ObjectsColumn(RuleColumn):
    """An object for each match, or for the first."""

    needs_finish = True

    def __init__(self, rule: ValueRule, finder: ScopeFinder, fields: NestedColumn) -> None:
        super().__init__(rule)
        self._finder = finder
        self._fields = fields
        self._is_many = rule.many

    def values(self, scope: SearchScope) -> list[Any]:
        """Return the found objects per entry, without empty ones."""
        matches = self._finder.find(scope)
        if not self._is_many:
            matches = [found[:1] for found in matches]
        owners = [index for index, found in enumerate(matches) for _ in found]
        if not owners:
            return [None] * len(scope)
        scope.pause()
        inner = self._finder.scope(
            scope.document,
            [match for found in matches for match in found],
            [scope.numbers[owner] for owner in owners],
        )
        rows = self._fields.values(inner)
        inner.pause()
        scope.resume()
        objects: list[list[Any]] = [[] for _ in matches]
        for owner, row in zip(owners, rows, strict=True):
            if row is not None:
                objects[owner].append(row)
        return [found or None for found in objects]

    def finish(self, value: Any, path: str, state: ItemState, /) -> Any:
        """Return the objects with all their keys."""
        objects = [self._fields.finish(found, path, state) for found in value]
        return objects if self._is_many else objects[0]
