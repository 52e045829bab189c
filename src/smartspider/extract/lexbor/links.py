"""Links found by CSS on Lexbor's tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selectolax.lexbor import LexborNode

from smartspider.extract.fields.scopes import PageScope
from smartspider.extract.lexbor.items import LexborItems
from smartspider.extract.lexbor.query import Query
from smartspider.extract.lexbor.values import Found, list_values
from smartspider.extract.parsing.link_markup import NofollowHref, implied_href, is_nofollow, normalize_href
from smartspider.extract.parsing.text import text_of


class CssLinks:
    """The links of one rule. `is_href`: matches are links to pages; otherwise values for a template."""

    def __init__(self, queries: tuple[Query, ...], *, is_href: bool, obeys_nofollow: bool) -> None:
        self._queries = queries
        self._is_href = is_href
        self._obeys_nofollow = obeys_nofollow

    def find(self, scope: LexborItems | PageScope) -> Sequence[Iterator[str]]:
        """Return the matches per entry, in the order of the rule's selectors."""
        if isinstance(scope, PageScope):
            return [self._in_page(scope)]
        return [self._in_item(item, scope) for item in scope.nodes]

    def first(self, page: PageScope) -> str | None:
        """Return the first match, also of an element that says `rel=nofollow`."""
        root = page.document.root
        for query in self._queries:
            if query.take == "element":
                node = query.first_in_page(root)
            else:
                node = next((node for node in query.find_in_page(root) if query.attr in node.attrs), None)
            if node is not None:
                value = self._value(node, query)
                return None if value is None else str(value)
        return None

    def _in_page(self, page: PageScope) -> Iterator[str]:
        root = page.document.root
        return self._values([(query, query.find_in_page(root)) for query in self._queries], root, page)

    def _in_item(self, item: LexborNode, scope: LexborItems) -> Iterator[str]:
        return self._values([(query, scope.find(query, item)) for query in self._queries], item, scope)

    def _values(self, found: Found, top: LexborNode, scope: LexborItems | PageScope) -> Iterator[str]:
        for query, nodes in found:
            if query.take in {"text", "deep_text"}:
                yield from filter(None, list_values([(query, nodes)], top, scope.document, is_raw=False))
                continue
            for node in nodes:
                value = self._value(node, query)
                if value is not None:
                    yield value
                elif not self._is_href and query.take == "element":
                    yield text_of(node, scope.document)

    def _value(self, node: LexborNode, query: Query) -> str | None:
        attributes = node.attributes
        if query.take == "attr":
            href = node.attrs.sget(query.attr, None)
        else:
            href = implied_href(node.tag, attributes) if "src" in attributes else attributes.get("href")
        if not href:
            return None
        value = normalize_href(href) if self._is_href else href
        if "rel" in attributes and value and self._obeys_nofollow and is_nofollow(attributes["rel"]):
            return NofollowHref(value)
        return value
