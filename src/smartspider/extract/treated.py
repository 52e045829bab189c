"""Rules with steps: what was found is treated before it counts as a value."""

from __future__ import annotations

from typing import Any

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.cleaning import clean
from smartspider.extract.columns import Case, Column, Leaf
from smartspider.extract.directives import base_of
from smartspider.extract.document import Document
from smartspider.extract.scopes import Scope
from smartspider.extract.texts import as_text
from smartspider.interfaces.step import PageContext, StepChain, ValueRejected


class TreatedColumn(Leaf):
    """A rule and its steps. They see what was found as a whole, or that nothing was; joining comes last."""

    is_open = True

    def __init__(self, rule: ValueRule, found: Column, chain: StepChain) -> None:
        super().__init__(rule)
        self._found = found
        self._chain = chain
        self._is_many = rule.many or rule.join is not None
        self._join = rule.join

    def column(self, scope: Scope) -> list[Any]:
        """The values before any step."""
        return self._found.column(scope)

    def finish(self, value: Any, path: str, case: Case, /) -> Any:
        """The value after all steps; None when one of them made nothing of it.

        One that is refused stays as it was found, and the refusal is noted for its item.
        """
        document = case.document
        if document.is_stained:
            value, stains = clean(value)
            document.cleaned += stains
        context = around_of(document)
        try:
            value = self._chain.apply(value, context, case.number)
        except ValueRejected as refused:
            document.refused.setdefault(case.number, (path, refused))
            return value
        if not self._is_many or not isinstance(value, list):
            return value
        kept = [each for each in value if each is not None]
        if not kept:
            return None
        return kept if self._join is None else self._join.join(map(as_text, kept))

    def settle(self, value: Any, path: str, case: Case) -> Any:
        """The value, or the default; steps may put something where nothing was, or refuse that."""
        value = self.finish(value, path, case)
        return super().settle(value, path, case) if value is None else value


def around_of(document: Document) -> PageContext:
    """What steps may know about the page."""
    context: PageContext | None = document.context
    if context is None:
        page = document.page
        context = document.context = PageContext(page.url, base_of(document), page.fetched_at)
    return context
