"""lxml as an engine for the compiler."""

from __future__ import annotations

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.css import ComplexSelector, read_selector
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.libxml.columns import LxmlItems, XPathColumn, XPathFinder, XPathTexts, markup_of
from smartspider.extract.libxml.css import CssTranslator
from smartspider.extract.libxml.links import XPathLinks
from smartspider.extract.libxml.xpath import Strings, XPathExpression
from smartspider.extract.rules.engine import LinkKind


class LibxmlEngine:
    """XPath, and CSS as XPath, on HTML or XML."""

    def __init__(self, *, is_xml: bool) -> None:
        self._css = CssTranslator(is_xml=is_xml)

    @property
    def xpath(self) -> LibxmlEngine:
        """Itself."""
        return self

    def check(self, expr: str) -> tuple[ComplexSelector, ...]:
        """The selectors of an expression that can be translated; raises `SelectorWrong`."""
        selectors = read_selector(expr)
        self._css.translate(selectors, is_page=True, is_raw=False)
        return selectors

    def css_column(
        self, rule: ValueRule, selectors: tuple[ComplexSelector, ...], is_page: bool, /
    ) -> XPathColumn:
        """The values of a CSS rule."""
        return XPathColumn(rule, self._expression(selectors, is_page=is_page, is_raw=rule.is_raw))

    def css_finder(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> XPathFinder:
        """The elements of a CSS rule."""
        return XPathFinder(self._expression(selectors, is_page=is_page, is_raw=False))

    def css_texts(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> XPathTexts:
        """The texts of what a CSS rule finds."""
        return XPathTexts(self._expression(selectors, is_page=is_page, is_raw=True))

    def css_links(
        self, selectors: tuple[ComplexSelector, ...], link: LinkKind, is_page: bool, /
    ) -> XPathLinks:
        """The links of a CSS rule."""
        xpath = self._css.translate(selectors, is_page=is_page, is_raw=True)
        return self.xpath_links(xpath, link)

    def xpath_column(self, rule: ValueRule, expr: str) -> XPathColumn:
        """The values of an XPath rule; raises `InvalidExpression`."""
        expression = XPathExpression(expr)
        if rule.attr is not None:
            expression = XPathExpression(f"({expr})/{self._css.attribute(rule.attr)}", "attributes")
        return XPathColumn(rule, expression)

    def xpath_finder(self, expr: str) -> XPathFinder:
        """The elements of an XPath rule; raises `InvalidExpression`."""
        expression = XPathExpression(expr)
        if not expression.finds_nodes:
            raise InvalidExpression(None, "it calculates a value instead of finding elements")
        return XPathFinder(expression)

    def xpath_links(self, expr: str, link: LinkKind) -> XPathLinks:
        """The links of an XPath rule; raises `InvalidExpression`."""
        # Only strings that know where they come from tell whether their element says nofollow.
        expression = XPathExpression(expr, "mixed")
        return XPathLinks(expression, is_href=link.is_href, obeys_nofollow=link.obeys_nofollow)

    def markup(self, scope: LxmlItems) -> list[str]:
        """Each item as HTML or XML."""
        return [markup_of(node, scope.document) for node in scope.nodes]

    def _expression(
        self, selectors: tuple[ComplexSelector, ...], *, is_page: bool, is_raw: bool
    ) -> XPathExpression:
        takes = {"attributes" if selector.take == "attr" else "texts" for selector in selectors}
        strings: Strings = "mixed" if len(takes) > 1 else "attributes" if "attributes" in takes else "texts"
        return XPathExpression(self._css.translate(selectors, is_page=is_page, is_raw=is_raw), strings)
