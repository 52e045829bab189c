"""Links found by XPath, or by CSS beside it, on lxml's tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from smartspider.extract.fields.scopes import PageScope
from smartspider.extract.libxml.columns import LxmlItems, scope_elements, text_of
from smartspider.extract.libxml.xpath import XPathExpression
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import NofollowHref, implied_href, is_nofollow, normalize_href


class XPathLinks:
    """The links of one rule. `is_href`: matches are links to pages; otherwise values for a template."""

    def __init__(self, expression: XPathExpression, *, is_href: bool, obeys_nofollow: bool) -> None:
        self._expression = expression
        self._is_href = is_href
        self._obeys_nofollow = obeys_nofollow

    def find(self, scope: LxmlItems | PageScope) -> Sequence[Iterator[str]]:
        """Return the matches per entry, in document order."""
        return [
            self._values(result, scope.document)
            for result in self._expression.results(scope.document, scope_elements(scope))
        ]

    def first(self, page: PageScope) -> str | None:
        """Return the first match, also of an element that says `rel=nofollow`."""
        (result,) = self._expression.results(page.document, scope_elements(page))
        found = result if isinstance(result, list) else [result]
        value = self._value(found[0], page.document) if found else None
        return None if value is None else str(value)

    def _values(self, result: Any, document: Document) -> Iterator[str]:
        for found in result if isinstance(result, list) else [result]:
            value = self._value(found, document)
            if value is not None:
                yield value

    def _value(self, found: Any, document: Document) -> str | None:
        if isinstance(found, str):
            href = str(found)
            parent = found.getparent() if hasattr(found, "getparent") else None
            rel = parent.get("rel") if parent is not None and found.is_attribute else None  # type: ignore[attr-defined]  # lxml's own
        elif hasattr(found, "attrib"):
            attributes = dict(found.attrib)
            rel = attributes.get("rel")
            href = implied_href(found.tag, attributes) or ""
            if not href and (document.is_xml or not self._is_href):
                # `<link>http://...</link>` of a feed, or the value for a template.
                href = text_of(found, document)
        else:
            return None
        if not href:
            return None
        value = normalize_href(href) if self._is_href else href
        return NofollowHref(value) if value and rel and self._obeys_nofollow and is_nofollow(rel) else value
