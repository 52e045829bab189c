"""The lxml engine."""

from __future__ import annotations

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.css import ComplexSelector, read_selector
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.libxml.columns import (
    LxmlItems,
    XPathColumn,
    XPathFinder,
    XPathTexts,
    serialize_markup,
)
from smartspider.extract.libxml.css import CssTranslator
from smartspider.extract.libxml.links import XPathLinks
from smartspider.extract.libxml.xpath import Strings, XPathExpression
from smartspider.extract.rules.engine import LinkKind


class LibxmlEngine:
    """XPath, and CSS translated to XPath, on HTML or XML."""

    def __init__(self, *, is_xml: bool) -> None:
        self._css = CssTranslator(is_xml=is_xml)

    @property
    def xpath(self) -> LibxmlEngine:
        """The engine itself."""
        return self

    def check(self, expr: str) -> tuple[ComplexSelector, ...]:
        """Parse an expression that can be translated; raise `InvalidSelector`."""
        selectors = read_selector(expr)
        self._css.translate(selectors, is_page=True, is_raw=False)
        return selectors

    def css_column(
        self, rule: ValueRule, selectors: tuple[ComplexSelector, ...], is_page: bool, /
    ) -> XPathColumn:
        """Compile a CSS rule for values."""
        return XPathColumn(rule, self._expression(selectors, is_page=is_page, is_raw=rule.is_raw))

    def css_finder(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> XPathFinder:
        """Compile a CSS rule for elements."""
        return XPathFinder(self._expression(selectors, is_page=is_page, is_raw=False))

    def css_texts(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> XPathTexts:
        """Compile a CSS rule for the texts of its matches."""
        return XPathTexts(self._expression(selectors, is_page=is_page, is_raw=True))

    def css_links(
        self, selectors: tuple[ComplexSelector, ...], link: LinkKind, is_page: bool, /
    ) -> XPathLinks:
        """Compile a CSS rule for links."""
        xpath = self._css.translate(selectors, is_page=is_page, is_raw=True)
        return self.xpath_links(xpath, link)

    def xpath_column(self, rule: ValueRule, expr: str) -> XPathColumn:
        """Compile an XPath rule for values; raise `InvalidExpression`."""
        expression = XPathExpression(expr)
        if rule.attr is not None:
            expression = XPathExpression(f"({expr})/{self._css.attribute(rule.attr)}", "attributes")
        return XPathColumn(rule, expression)

    def xpath_finder(self, expr: str) -> XPathFinder:
        """Compile an XPath rule for elements; raise `InvalidExpression`."""
        expression = XPathExpression(expr)
        if not expression.finds_nodes:
            raise InvalidExpression(None, "it returns a value, not elements")
        return XPathFinder(expression)

    def xpath_links(self, expr: str, link: LinkKind) -> XPathLinks:
        """Compile an XPath rule for links; raise `InvalidExpression`."""
        # Only strings with a known origin tell whether their element has nofollow.
        expression = XPathExpression(expr, "mixed")
        return XPathLinks(expression, is_href=link.is_href, obeys_nofollow=link.obeys_nofollow)

    def markup(self, scope: LxmlItems) -> list[str]:
        """Return each item as HTML or XML."""
        return [serialize_markup(node, scope.document) for node in scope.nodes]

    def _expression(
        self, selectors: tuple[ComplexSelector, ...], *, is_page: bool, is_raw: bool
    ) -> XPathExpression:
        takes = {"attributes" if selector.take == "attr" else "texts" for selector in selectors}
        strings: Strings = "mixed" if len(takes) > 1 else "attributes" if "attributes" in takes else "texts"
        return XPathExpression(self._css.translate(selectors, is_page=is_page, is_raw=is_raw), strings)
