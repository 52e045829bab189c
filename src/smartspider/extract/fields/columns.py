"""Fields as columns: a rule gives its values for all places of a scope at once, None where it is missing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from smartspider.core.errors import NotReadable
from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.scopes import SearchScope
from smartspider.extract.parsing.cleaning import clean
from smartspider.extract.parsing.document import Document


class ItemState:
    """The item that values are settled for, and the required fields found missing in it."""

    __slots__ = ("document", "missing", "number")

    def __init__(self, document: Document, number: int) -> None:
        self.document = document
        self.number = number
        self.missing: list[str] = []


class FieldColumn(Protocol):
    """A field. `column` finds, `finish` makes the final value of what was found, `settle` also stands in for
    what is missing.
    """

    needs_finish: bool
    """What was found is not final before it is settled."""

    def values(self, scope: Any) -> list[Any]:
        """A value for each place of the scope it was compiled for; None where there is none."""

    def finish(self, value: Any, path: str, state: ItemState, /) -> Any:
        """The value that becomes of a found one; None when nothing does."""

    def complete(self, value: Any, path: str, state: ItemState, /) -> Any:
        """The final value, or what stands for a missing one; names required fields that are missing."""


class RuleColumn:
    """What all single rules do with a missing value. `required` is met by a default."""

    needs_finish = False

    def __init__(self, rule: ValueRule) -> None:
        self._default = clean(rule.default)[0]
        if self._default is None and rule.many and rule.join is None:
            self._default = []
        self._is_required = rule.required and rule.default is None

    def finish(self, value: Any, _path: str, _state: ItemState, /) -> Any:
        """The value as it was found."""
        return value

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """The value, or the default."""
        if value is not None:
            value = self.finish(value, path, state)
            if value is not None:
                return value
        if self._is_required:
            state.missing.append(path)
        return self._default


class ConstColumn(RuleColumn):
    """The same value everywhere."""

    def __init__(self, rule: ValueRule) -> None:
        super().__init__(rule)
        self._value = clean(rule.expr)[0]

    def values(self, scope: SearchScope) -> list[Any]:
        """The value, once for each item."""
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
    """Something known about the page or its request."""

    def __init__(self, rule: ValueRule) -> None:
        super().__init__(rule)
        self._key = str(rule.expr)
        self._read = _META.get(self._key, self._from_request)

    def values(self, scope: SearchScope) -> list[Any]:
        """The value, once for each item."""
        value, count = clean(self._read(scope.document))
        scope.document.cleaned += count
        return [value] * len(scope)

    def _from_request(self, document: Document) -> Any:
        return document.request.extras.meta.get(self._key)


class FirstOfColumn:
    """Alternatives: the first that has a value."""

    needs_finish = False

    def __init__(self, alternatives: tuple[FieldColumn, ...], path: str) -> None:
        self._alternatives = alternatives
        self._path = path

    def values(self, scope: SearchScope) -> list[Any]:
        """The final values; a later alternative is only looked up while some are missing.

        An alternative that cannot read the page has no value, unless none of them can.
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
        """The value; it is final already."""
        return value

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """The value, or the first default; one required alternative makes the field required."""
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
    """An object of fields; missing where all of them are."""

    needs_finish = True

    def __init__(self, fields: dict[str, FieldColumn]) -> None:
        self._fields = fields

    def values(self, scope: SearchScope) -> list[Any]:
        """Objects of found values."""
        if not self._fields:
            return [None] * len(scope)
        columns = [field.values(scope) for field in self._fields.values()]
        return [
            dict(zip(self._fields, row, strict=True)) if any(value is not None for value in row) else None
            for row in zip(*columns, strict=True)
        ]

    def finish(self, value: Any, path: str, state: ItemState) -> Any:
        """The object with all its keys."""
        return {
            name: field.complete(value.get(name), f"{path}.{name}" if path else name, state)
            for name, field in self._fields.items()
        }

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """The object with all its keys, also where nothing was found."""
        return self.finish(value or {}, path, state)
