"""The Lexbor engine: check that Lexbor supports a selector, and compile CSS rules."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.css import ComplexSelector, InvalidSelector, read_selector, split_simple
from smartspider.extract.lexbor.columns import CssColumn, CssFinder, CssTexts
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


_FORGIVING = re.compile(r"(:(?:is|where)\()(.*)\)", re.IGNORECASE | re.DOTALL)
_SCOPE_PREFIX = re.compile(r":scope", re.IGNORECASE)
_HINTS = (
    (re.compile(r":contains\(", re.IGNORECASE), ':lexbor-contains("...") looks into an element\'s own text'),
    (re.compile(r":scope", re.IGNORECASE), "':scope' must come first"),
    (re.compile(r"\[[^\]]*!="), "write :not([name=value])"),
    (re.compile(r"\[[^\]]*=\s*\d"), "put the value in quotes"),
)


def check_css(expr: str) -> tuple[ComplexSelector, ...]:
    """Parse an expression that Lexbor fully supports; raise `InvalidSelector` with the position."""
    selectors = read_selector(expr)
    _check_selectors(selectors, 0)
    return selectors


def _check_selectors(selectors: tuple[ComplexSelector, ...], offset: int) -> None:
    for selector in selectors:
        for number, compound in enumerate(selector.compounds):
            css = compound.css
            at = offset + compound.at
            if selector.is_scoped and number == 0 and compound.combinator != ">":
                css = _SCOPE_PREFIX.sub("*", css, count=1)
                at += len(compound.css) - len(css)
            _check_compound(css, at)


def _check_compound(css: str, at: int) -> None:
    simples = split_simple(css)
    for start, simple in simples:
        if not _is_readable(simple):
            hint = next((hint for pattern, hint in _HINTS if pattern.search(simple)), "")
            if simple.startswith("/"):
                hint = 'a text is CSS; XPath is written {"type": "xpath", "expr": "//..."}'
            raise InvalidSelector(at + start, f"{simple!r} is not a supported selector", hint)
        inner = _FORGIVING.fullmatch(simple)
        if inner is not None:
            # Lexbor skips what it does not know inside :is(), so a misspelling there would match nothing.
            _check_inner(inner[2], at + start + len(inner[1]))
    if not _is_readable(css):
        raise InvalidSelector(at, f"{css!r} cannot be read as a whole")


def _check_inner(expr: str, at: int) -> None:
    try:
        selectors = read_selector(expr)
    except InvalidSelector as wrong:
        raise InvalidSelector(at + wrong.at, wrong.what, wrong.hint) from None
    if any(selector.take != "element" for selector in selectors):
        raise InvalidSelector(at, "a pseudo-element is not allowed inside parentheses")
    _check_selectors(selectors, at)


def _is_readable(css: str) -> bool:
    try:
        LexborHTMLParser("").css(css)
    except SelectolaxError:
        return False
    return True
