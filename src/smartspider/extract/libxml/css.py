"""Translate CSS to XPath. Combinators and `:is()`, `:not()`, `:has()` are translated here, to match Lexbor;
simple selectors by cssselect.
"""

from __future__ import annotations

import re
from typing import Any

from cssselect import GenericTranslator, HTMLTranslator, SelectorError
from cssselect.parser import parse

from smartspider.extract.css import (
    SCOPE,
    ComplexSelector,
    CompoundSelector,
    InvalidSelector,
    read_selector,
    read_selector_list,
    split_simple,
)

_LOGIC = re.compile(r":(is|where|matches|any|not|has)\((.*)\)", re.IGNORECASE | re.DOTALL)
_OWN_TEXT = re.compile(r":lexbor-contains\(\s*(\"[^\"]*\"|'[^']*')\s*(i?)\s*\)", re.IGNORECASE)
_SCOPED = re.compile(r":scope", re.IGNORECASE)
_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_FORWARD = {"": "descendant::", " ": "descendant::", ">": "child::", "~": "following-sibling::"}
_BACKWARD = {
    " ": "ancestor::*",
    ">": "parent::*",
    "+": "preceding-sibling::*[1]",
    "~": "preceding-sibling::*",
}
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class CssTranslator:
    """Translates CSS selectors for HTML, or for XML, where names are case-sensitive."""

    def __init__(self, *, is_xml: bool) -> None:
        self._is_xml = is_xml
        self._simple: Any = GenericTranslator() if is_xml else HTMLTranslator()

    def translate(self, selectors: tuple[ComplexSelector, ...], *, is_page: bool, is_raw: bool) -> str:
        """Return one XPath for a whole expression, relative to the page's root or to an item."""
        paths = [self._complex(selector, is_page=is_page, is_raw=is_raw) for selector in selectors]
        return " | ".join(dict.fromkeys(paths))

    def _complex(self, selector: ComplexSelector, *, is_page: bool, is_raw: bool) -> str:
        compounds, take = selector.compounds, selector.take
        last = compounds[-1]
        includes_last = take == "attr" and last.css == "*" and last.combinator == " "
        if includes_last:
            # As in parsel, `div ::attr(x)` includes the attribute of the div.
            compounds = compounds[:-1]
        steps = [self._first(compounds, selector, is_page=is_page, is_raw=is_raw)]
        steps += [self._step(compound) for compound in compounds[1:]]
        if includes_last:
            steps.append("descendant-or-self::*")
        if take == "attr":
            steps.append(self.attribute(selector.attr or ""))
        elif take == "text":
            steps.append("text()")
        elif take == "deep_text":
            steps.append("descendant::text()")
        return "/".join(steps)

    def _first(
        self,
        compounds: tuple[CompoundSelector, ...],
        selector: ComplexSelector,
        *,
        is_page: bool,
        is_raw: bool,
    ) -> str:
        first = compounds[0]
        if selector.is_scoped:
            if first.combinator == ">":
                return self._step(first)
            return "self::" + self._test(_SCOPED.sub("*", first.css, count=1), first.at)
        if is_page or (
            compounds[1].combinator in {" ", ">"}
            if len(compounds) > 1
            else is_raw or selector.take != "element"
        ):
            return "descendant-or-self::" + self._test(first.css, first.at)
        return "descendant::" + self._test(first.css, first.at)

    def _step(self, compound: CompoundSelector) -> str:
        if compound.combinator == "+":
            return f"following-sibling::*[1]/self::{self._test(compound.css, compound.at)}"
        return _FORWARD[compound.combinator] + self._test(compound.css, compound.at)

    def _test(self, css: str, at: int) -> str:
        """Return a node test with its conditions: `h2[...]`."""
        element, conditions = self._compound(css, at)
        return element + "".join(f"[{condition}]" for condition in conditions)

    def _compound(self, css: str, at: int) -> tuple[str, list[str]]:
        plain: list[str] = []
        conditions: list[str] = []
        for start, simple in split_simple(css):
            logic, own_text = _LOGIC.fullmatch(simple), _OWN_TEXT.fullmatch(simple)
            if logic is not None:
                conditions.append(self._logic(logic[1].lower(), logic[2], at + start + logic.start(2)))
            elif own_text is not None:
                conditions.append(self._own_text(own_text[1][1:-1], is_blind=bool(own_text[2])))
            else:
                plain.append(simple)
        if not plain:
            return "*", conditions
        try:
            found = self._simple.xpath(parse("".join(plain))[0].parsed_tree)
        except SelectorError as wrong:
            raise InvalidSelector(
                at, f"{css!r} cannot be used with XPath beside it or on XML ({wrong})"
            ) from None
        if found.path:
            raise InvalidSelector(at, f"{css!r} cannot be used with XPath beside it or on XML")
        return found.element, [found.condition, *conditions] if found.condition else conditions

    def _logic(self, name: str, inner: str, at: int) -> str:
        try:
            selectors = _elements_of(inner, is_relative=name == "has")
            if name == "has":
                return " or ".join(self._has(selector) for selector in selectors)
            any_of = " or ".join(f"({self._matches(selector.compounds)})" for selector in selectors)
        except InvalidSelector as wrong:
            raise InvalidSelector(at + wrong.at, wrong.what, wrong.hint) from None
        return f"not({any_of})" if name == "not" else any_of

    def _matches(self, compounds: tuple[CompoundSelector, ...]) -> str:
        """Return the condition that the context node matches the last compound and its ancestors match the
        rest.
        """
        last = compounds[-1]
        element, conditions = self._compound(last.css, last.at)
        tests = [f"self::{element}" if element != "*" else "true()", *(f"({each})" for each in conditions)]
        if len(compounds) > 1:
            tests.append(f"{_BACKWARD[last.combinator]}[{self._matches(compounds[:-1])}]")
        return " and ".join(tests)

    def _has(self, selector: ComplexSelector) -> str:
        first = selector.compounds[0]
        if first.css.lower().startswith(SCOPE):
            raise InvalidSelector(first.at, "':scope' must come first")
        return "/".join(self._step(compound) for compound in selector.compounds)

    def _own_text(self, text: str, *, is_blind: bool) -> str:
        literal: str = self._simple.xpath_literal(text.lower() if is_blind else text)
        own = f"translate(., '{_UPPER}', '{_UPPER.lower()}')" if is_blind else "."
        return f"text()[contains({own}, {literal})]"

    def attribute(self, name: str) -> str:
        """Return the last step of a path to an attribute."""
        if not self._is_xml:
            name = name.lower()
        if _SAFE_NAME.fullmatch(name):
            return f"@{name}"
        return f"attribute::*[name() = {self._simple.xpath_literal(name)}]"


def _elements_of(expr: str, *, is_relative: bool) -> tuple[ComplexSelector, ...]:
    selectors = read_selector_list(expr) if is_relative else read_selector(expr)
    if any(selector.take != "element" for selector in selectors):
        raise InvalidSelector(0, "a pseudo-element is not allowed inside parentheses")
    return selectors
