"""The Lexbor engine."""

from __future__ import annotations

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.css import ComplexSelector
from smartspider.extract.lexbor.columns import CssColumn, CssFinder, CssTexts
from smartspider.extract.lexbor.css_check import check_css
from smartspider.extract.lexbor.items import LexborItems
from smartspider.extract.lexbor.links import CssLinks
from smartspider.extract.lexbor.query import make_queries
from smartspider.extract.lexbor.values import serialize_html
from smartspider.extract.rules.engine import LinkKind, XPathEngine


class LexborEngine:
    """CSS on HTML; Lexbor has no XPath."""

    @property
    def xpath(self) -> XPathEngine:
        """Not used: lxml reads page types with XPath rules."""
        raise NotImplementedError

    def check(self, expr: str) -> tuple[ComplexSelector, ...]:
        """Parse an expression that Lexbor supports; raise `InvalidSelector`."""
        return check_css(expr)

    def css_column(
        self, rule: ValueRule, selectors: tuple[ComplexSelector, ...], _is_page: bool, /
    ) -> CssColumn:
        """Compile a CSS rule for values."""
        return CssColumn(rule, make_queries(selectors, is_raw=rule.is_raw))

    def css_finder(self, selectors: tuple[ComplexSelector, ...], _is_page: bool, /) -> CssFinder:
        """Compile a CSS rule for elements."""
        return CssFinder(make_queries(selectors, is_raw=False)[0])

    def css_texts(self, selectors: tuple[ComplexSelector, ...], _is_page: bool, /) -> CssTexts:
        """Compile a CSS rule for the texts of its matches."""
        return CssTexts(make_queries(selectors, is_raw=False))

    def css_links(
        self, selectors: tuple[ComplexSelector, ...], link: LinkKind, _is_page: bool, /
    ) -> CssLinks:
        """Compile a CSS rule for links."""
        queries = make_queries(selectors, is_raw=True)
        return CssLinks(queries, is_href=link.is_href, obeys_nofollow=link.obeys_nofollow)

    def markup(self, scope: LexborItems) -> list[str]:
        """Return each item as HTML."""
        return [serialize_html(node) for node in scope.nodes]
