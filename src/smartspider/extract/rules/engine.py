"""The interface of engines that read markup."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.css import ComplexSelector
from smartspider.extract.fields.columns import FieldColumn, ScopeFinder
from smartspider.extract.fields.json_column import TextReader
from smartspider.extract.links.page_links import LinkFinder


class LinkKind(NamedTuple):
    """The use of matches. `is_href`: links to pages; otherwise values for a template."""

    is_href: bool
    obeys_nofollow: bool


class XPathEngine(Protocol):
    """Compiles XPath. All methods raise `InvalidExpression`."""

    def xpath_column(self, rule: ValueRule, expr: str) -> FieldColumn:
        """Compile an expression for values."""

    def xpath_finder(self, expr: str) -> ScopeFinder:
        """Compile an expression for elements."""

    def xpath_links(self, expr: str, link: LinkKind) -> LinkFinder:
        """Compile an expression for links."""


class Engine(Protocol):
    """Compiles CSS. `is_page`: the rule searches the page, not an item."""

    @property
    def xpath(self) -> XPathEngine:
        """The XPath compiler; used only for page types with XPath rules."""

    def check(self, expr: str) -> tuple[ComplexSelector, ...]:
        """Parse a CSS expression that the engine supports; raise `InvalidSelector`."""

    def css_column(
        self, rule: ValueRule, selectors: tuple[ComplexSelector, ...], is_page: bool, /
    ) -> FieldColumn:
        """Compile a CSS rule for values."""

    def css_finder(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> ScopeFinder:
        """Compile a CSS rule for elements."""

    def css_texts(self, selectors: tuple[ComplexSelector, ...], is_page: bool, /) -> TextReader:
        """Compile a CSS rule for the texts of its matches."""

    def css_links(
        self, selectors: tuple[ComplexSelector, ...], link: LinkKind, is_page: bool, /
    ) -> LinkFinder:
        """Compile a CSS rule for links."""

    def markup(self, scope: Any) -> list[str]:
        """Return each item as markup."""
