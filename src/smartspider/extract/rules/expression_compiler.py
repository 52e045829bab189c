"""Compile one rule for one engine and one kind of scope."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.pages.rules import EXPRESSIONS, ValueRule
from smartspider.extract.css import ComplexSelector
from smartspider.extract.errors import InvalidExpression
from smartspider.extract.fields.columns import ConstColumn, FieldColumn, MetaColumn, ScopeFinder
from smartspider.extract.fields.json_column import (
    EmbeddedJsonReader,
    JsonColumn,
    JsonFinder,
    JsonReader,
    SourceReader,
    read_page,
    read_texts,
    read_values,
)
from smartspider.extract.fields.regex_column import (
    ReadTexts,
    RegexColumn,
    RegexFinder,
    RegexPattern,
    own_texts,
    page_texts,
    value_texts,
)
from smartspider.extract.fields.scopes import ScopeKind
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.links.page_links import LinkFinder
from smartspider.extract.links.value_links import JsonLinks, RegexLinks
from smartspider.extract.rules.engine import Engine, LinkKind

_VALUES_AT_END = re.compile(r"(?:text\(\)|@[\w:.-]+|@\*)\s*$")


class InvalidWithin(InvalidExpression):
    """The CSS expression of `in` is invalid."""


class ExpressionCompiler:
    """Compiles a rule for values, matches or links. All methods raise `InvalidExpression`."""

    def __init__(self, rule: ValueRule, kind: ScopeKind, engine: Engine) -> None:
        self._rule = rule
        self._kind = kind
        self._engine = engine
        self._is_page = kind == "page"

    def column(self, field: str) -> FieldColumn:
        """Compile the rule for values."""
        rule, engine = self._rule, self._engine
        match rule.type:
            case "const":
                return ConstColumn(rule)
            case "meta":
                return MetaColumn(rule)
            case "css":
                return engine.css_column(rule, self._selectors(), self._is_page)
            case "xpath":
                return engine.xpath.xpath_column(rule, _text(rule.expr))
            case "regex":
                texts_of, is_markup = self._texts()
                return RegexColumn(rule, self._pattern(), texts_of, is_markup=is_markup)
            case _:
                return JsonColumn(rule, self._reader(field), self._jmespath())

    def finder(self) -> ScopeFinder:
        """Compile the rule for matches that are searched in turn."""
        rule, engine = self._rule, self._engine
        match rule.type:
            case "const" | "meta":
                raise InvalidExpression(None, f"a {rule.type} rule has no matches to search in")
            case "css":
                selectors = self._selectors()
                if any(selector.take != "element" for selector in selectors):
                    raise InvalidExpression(
                        None, "it gives values, not elements", "remove the pseudo-element"
                    )
                return engine.css_finder(selectors, self._is_page)
            case "xpath":
                if _VALUES_AT_END.search(_text(rule.expr)):
                    raise InvalidExpression(None, "it gives values, not elements", "stop at the element")
                return engine.xpath.xpath_finder(rule.expr)
            case "regex":
                return RegexFinder(self._pattern(), self._texts()[0])
            case _:
                return JsonFinder(self._reader(), self._jmespath())

    def links(self, link: LinkKind) -> LinkFinder:
        """Compile the rule for links."""
        rule, engine = self._rule, self._engine
        match rule.type:
            case "css":
                selectors = self._selectors()
                if link.is_href and any(selector.take in {"text", "deep_text"} for selector in selectors):
                    raise InvalidExpression(
                        None, "the expression returns text, not links", "select elements, or use ::attr(name)"
                    )
                return engine.css_links(selectors, link, self._is_page)
            case "xpath":
                return engine.xpath.xpath_links(_text(rule.expr), link)
            case "jmespath":
                return JsonLinks(self._reader(), JmesExpression(_text(rule.expr)), is_href=link.is_href)
            case "regex":
                texts_of, is_markup = self._texts()
                return RegexLinks(self._pattern(), texts_of, is_href=link.is_href, is_markup=is_markup)
            case _:
                raise InvalidExpression(None, f"a rule of type {rule.type!r} finds no links", "use css")

    def _selectors(self) -> tuple[ComplexSelector, ...]:
        rule = self._rule
        selectors = self._engine.check(_text(rule.expr))
        if rule.attr is None:
            return selectors
        if any(selector.take != "element" for selector in selectors):
            raise InvalidExpression(
                None, "a pseudo-element and `attr` are mutually exclusive", "use one of them"
            )
        return tuple(selector._replace(take="attr", attr=rule.attr) for selector in selectors)

    def _reader(self, field: str | None = None) -> JsonReader:
        rule = self._rule
        if rule.type not in EXPRESSIONS:
            from smartspider.extract.sources import require_source

            require_source(rule.type)
            return SourceReader(rule.type, self._engine.markup, field)
        if rule.within is None:
            readers: dict[ScopeKind, Any] = {"page": read_page, "values": read_values, "texts": read_texts}
            reader: JsonReader = readers[self._kind]
            return reader
        try:
            selectors = self._engine.check(rule.within)
        except InvalidExpression as wrong:
            raise InvalidWithin(wrong.at, wrong.what, wrong.hint) from None
        return EmbeddedJsonReader(rule.within, self._engine.css_texts(selectors, self._is_page))

    def _jmespath(self) -> JmesExpression | None:
        rule = self._rule
        if rule.expr is None and rule.type not in EXPRESSIONS:
            return None
        return JmesExpression(_text(rule.expr))

    def _pattern(self) -> RegexPattern:
        try:
            return RegexPattern(_text(self._rule.expr))
        except re.error as wrong:
            raise InvalidExpression(wrong.pos, wrong.msg) from None

    def _texts(self) -> tuple[ReadTexts, bool]:
        """Return the reader of the text to search, and whether it is markup."""
        match self._kind:
            case "page":
                return page_texts, True
            case "elements":
                return self._engine.markup, True
            case "values":
                return value_texts, False
            case "texts":
                return own_texts, False


def _text(expr: Any) -> str:
    if not isinstance(expr, str):
        raise InvalidExpression(None, f"an expression is text, not {expr!r}")
    return expr
