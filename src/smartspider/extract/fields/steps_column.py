"""Rules with steps."""

from __future__ import annotations

from typing import Any

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.columns import FieldColumn, ItemState, RuleColumn
from smartspider.extract.fields.scopes import SearchScope
from smartspider.extract.parsing.decoding import clean
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.parsing.text import to_text
from smartspider.interfaces.step import PageContext, StepChain, ValueRejected, page_context


class StepsColumn(RuleColumn):
    """A rule and its steps. Steps receive all found values, or None; joining comes last."""

    needs_finish = True

    def __init__(self, rule: ValueRule, found: FieldColumn, chain: StepChain) -> None:
        super().__init__(rule)
        self._found = found
        self._chain = self._chain_of_page = chain
        self._is_many = rule.many or rule.join is not None
        self._join = rule.join

    def values(self, scope: SearchScope) -> list[Any]:
        """Return the values before any step; the steps see all of them before they convert one."""
        values = self._found.values(scope)
        self._chain_of_page = self._chain.for_column(values, context_of(scope.document))
        return values

    def finish(self, value: Any, path: str, state: ItemState, /) -> Any:
        """Apply the steps; None if one failed.

        A rejected value stays as found, and the rejection is recorded for its item.
        """
        document = state.document
        if document.has_invalid:
            value, cleaned = clean(value)
            document.cleaned += cleaned
        context = context_of(document)
        try:
            value = self._chain_of_page.apply(value, context, state.number)
        except ValueRejected as refused:
            document.rejected.setdefault(state.number, (path, refused))
            return value
        if not self._is_many or not isinstance(value, list):
            return value
        kept = [each for each in value if each is not None]
        if not kept:
            return None
        return kept if self._join is None else self._join.join(map(to_text, kept))

    def complete(self, value: Any, path: str, state: ItemState) -> Any:
        """Return the value or the default; steps may also replace or reject a missing value."""
        value = self.finish(value, path, state)
        return super().complete(value, path, state) if value is None else value


def context_of(document: Document) -> PageContext:
    """Return the context that steps receive."""
    context: PageContext | None = document.context
    if context is None:
        context = document.context = page_context(document.page, base_of(document))
    return context
