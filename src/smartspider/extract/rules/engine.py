"""What the engines that read markup have in common, for the compiler."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.css import ComplexSelector
from smartspider.extract.fields.columns import FieldColumn
from smartspider.extract.fields.json_column import TextReader
from smartspider.extract.fields.objects import ScopeFinder
from smartspider.extract.links.page_links import LinkFinder


class LinkKind(NamedTuple):
    """How found values are read. `is_href`: as links to pages, else as values for a template."""

    is_href: bool
    obeys_nofollow: bool


class XPathEngine(Protocol):
    """Compiles XPath; everything raises `ExpressionWrong`."""

    def xpath_column(self, rule: ValueRule, expr: str) -> FieldColumn:
        """The values of an expression."""

    def xpath_finder(self, expr: str) -> ScopeFinder:
        """The elements of an expression."""

    def xpath_links(self, expr: str, link: LinkKind) -> LinkFinder:
        """The links of an expression."""


class Engine(Protocol):
    """Compiles CSS. `is_page`: the rule looks into the page, not into an item."""

    @property
    def xpath(self) -> XPathEngine:
        """What compiles XPath; only asked for where a page type has such rules."""

    def check(self, expr: str) -> tuple[ComplexSelector, ...]:
        """The selectors of a CSS expression that works here; raises `SelectorWrong`."""

    def css_column(
        self, rule: ValueRule, selectors: tuple[ComplexSelector, ...], is_page: bool, /
    ) -> FieldColumn:
        """The values of a CSS rule."""

    def css_finder(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> ScopeFinder:
        """The elements of a CSS rule."""

    def css_texts(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> TextReader:
        """The texts of what a CSS rule finds."""

    def css_links(
        self, selectors: tuple[ComplexSelector, ...], link: LinkKind, is_page: bool, /
    ) -> LinkFinder:
        """The links of a CSS rule."""

    def markup(self, scope: Any) -> list[str]:
        """Each item as markup."""
