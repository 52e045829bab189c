"""What the engines that read markup have in common, for the compiler."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.columns import Column
from smartspider.extract.json_column import TextReader
from smartspider.extract.links import LinkFinder
from smartspider.extract.objects import Finder
from smartspider.extract.selector import Member


class LinkKind(NamedTuple):
    """How found values are read. `is_href`: as links to pages, else as values for a template."""

    is_href: bool
    obeys_nofollow: bool


class XPathEngine(Protocol):
    """Compiles XPath; everything raises `ExpressionWrong`."""

    def xpath_column(self, rule: ValueRule, expr: str) -> Column:
        """The values of an expression."""

    def xpath_finder(self, expr: str) -> Finder:
        """The elements of an expression."""

    def xpath_links(self, expr: str, link: LinkKind) -> LinkFinder:
        """The links of an expression."""


class Engine(Protocol):
    """Compiles CSS. `is_page`: the rule looks into the page, not into an item."""

    @property
    def xpath(self) -> XPathEngine:
        """What compiles XPath; only asked for where a page type has such rules."""

    def check(self, expr: str) -> tuple[Member, ...]:
        """The members of a CSS expression that works here; raises `SelectorWrong`."""

    def css_column(self, rule: ValueRule, members: tuple[Member, ...], is_page: bool, /) -> Column:
        """The values of a CSS rule."""

    def css_finder(self, members: tuple[Member, ...], is_page: bool, /) -> Finder:
        """The elements of a CSS rule."""

    def css_texts(self, members: tuple[Member, ...], is_page: bool, /) -> TextReader:
        """The texts of what a CSS rule finds."""

    def css_links(self, members: tuple[Member, ...], link: LinkKind, is_page: bool, /) -> LinkFinder:
        """The links of a CSS rule."""

    def markup(self, scope: Any) -> list[str]:
        """Each item as markup."""
