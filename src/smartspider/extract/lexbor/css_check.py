"""Check that Lexbor supports a selector, and locate the part that it does not."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from smartspider.extract.css import ComplexSelector, InvalidSelector, read_selector, split_simple

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
