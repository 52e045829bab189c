"""Fields as columns: a rule returns its values for all entries of a scope at once, also as objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from smartspider.core.errors import NotReadable
from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.scopes import SearchScope
from smartspider.extract.parsing.decoding import clean
from smartspider.extract.parsing.document import Document


class ItemState:
    """The item whose values are completed, and its missing required fields."""

    __slots__ = ("document", "missing", "number")

    def __init__(self, document: Document, number: int) -> None:
        self.document = document
        self.number = number
        self.missing: list[str] = []


class FieldColumn(Protocol):
    """A compiled field. `values` finds, `finish` converts a found value, `complete` also fills
    in defaults.
    """

    needs_finish: bool
    """Found values are not final before `complete`."""

    def values(self, scope: Any) -> list[Any]:
        """Return one value per entry of the scope; None if there is none."""

    def finish(self, value: Any, path: str, state: ItemState, /) -> Any:
        """Convert a found value; None if nothing remains of it."""

    def complete(self, value: Any, path: str, state: ItemState, /) -> Any:
        """Return the final value or the default; record a missing required field."""


class RuleColumn:
    """Handles missing values of single rules. A default satisfies `required`."""

    needs_finish = False

    def __init__(self, rule: ValueRule) -> None:
        self._default = clean(rule.default)[0]
        if self._default is None and rule.many and rule.join is None:
            self._default = []
        self._is_required = rule.required and rule.default is None

    def finish(self, value: Any, _path: str, _state: ItemState, /) -> Any:
        """Return the value unchanged."""
        return value

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """Return the value or the default."""
        if value is not None:
            value = self.finish(value, path, state)
            if value is not None:
                return value
        if self._is_required:
            state.missing.append(path)
        return self._default


class ConstColumn(RuleColumn):
    """A constant."""

    def __init__(self, rule: ValueRule) -> None:
        super().__init__(rule)
        self._value = clean(rule.expr)[0]

    def values(self, scope: SearchScope) -> list[Any]:
        """Return the constant for each entry."""
        return [self._value] * len(scope)


_META: dict[str, Callable[[Document], Any]] = {
    "url": lambda document: document.request.url,
    "final_url": lambda document: document.page.url,
    "status": lambda document: document.page.status,
    "fetched_at": lambda document: datetime.fromtimestamp(document.page.fetched_at, UTC).isoformat(),
    "depth": lambda document: document.request.depth,
    "page": lambda document: document.request.page,
    "parent": lambda document: document.request.parent,
}


class MetaColumn(RuleColumn):
    """A property of the page or its request."""

    def __init__(self, rule: ValueRule) -> None:
        super().__init__(rule)
        self._key = str(rule.expr)
        self._read = _META.get(self._key, self._from_request)

    def values(self, scope: SearchScope) -> list[Any]:
        """Return the property for each entry."""
        value, count = clean(self._read(scope.document))
        scope.document.cleaned += count
        return [value] * len(scope)

    def _from_request(self, document: Document) -> Any:
        return document.request.extras.meta.get(self._key)


class FirstOfColumn:
    """Alternatives: takes the first value found."""

    needs_finish = False

    def __init__(self, alternatives: tuple[FieldColumn, ...], path: str) -> None:
        self._alternatives = alternatives
        self._path = path

    def values(self, scope: SearchScope) -> list[Any]:
        """Return final values; a later alternative is searched only while some are missing.

        An alternative that cannot read the page has no value. Raise `NotReadable` if none can.
        """
        values: list[Any] = [None] * len(scope)
        unreadable: NotReadable | None = None
        is_read = False
        for alternative in self._alternatives:
            try:
                found = alternative.values(scope)
            except NotReadable as wrong:
                unreadable = unreadable or wrong
                continue
            is_read = True
            for index, value in enumerate(found):
                if values[index] is None and value is not None:
                    state = ItemState(scope.document, scope.numbers[index])
                    finished = alternative.finish(value, self._path, state)
                    values[index] = None if state.missing else finished
            if None not in values:
                break
        if not is_read and unreadable is not None:
            raise unreadable
        return values

    def finish(self, value: Any, _path: str, _state: ItemState, /) -> Any:
        """Return the value, which is final already."""
        return value

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """Return the value or the first default; one required alternative makes the field required."""
        if value is not None:
            return value
        inner = ItemState(state.document, state.number)
        settled: Any = None
        for alternative in self._alternatives:
            before = len(inner.missing)
            settled = alternative.complete(None, path, inner)
            if len(inner.missing) == before and settled is not None and settled != []:
                return settled
        if inner.missing:
            state.missing.append(path)
        return settled


class NestedColumn:
    """An object of fields; missing if all of them are."""

    needs_finish = True

    def __init__(self, fields: dict[str, FieldColumn]) -> None:
        self._fields = fields

    def values(self, scope: SearchScope) -> list[Any]:
        """Return objects of found values."""
        if not self._fields:
            return [None] * len(scope)
        columns = [field.values(scope) for field in self._fields.values()]
        return [
            dict(zip(self._fields, row, strict=True)) if any(value is not None for value in row) else None
            for row in zip(*columns, strict=True)
        ]

    def finish(self, value: Any, path: str, state: ItemState) -> Any:
        """Return the object with all its keys."""
        return {
            name: field.complete(value.get(name), f"{path}.{name}" if path else name, state)
            for name, field in self._fields.items()
        }

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """Return the object with all its keys, even if nothing was found."""
        return self.finish(value or {}, path, state)


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
