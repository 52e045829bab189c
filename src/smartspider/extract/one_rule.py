"""One rule compiled for one engine and one kind of place: its values, its matches, its links."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.pages.rules import EXPRESSIONS, ValueRule
from smartspider.extract.columns import Column, ConstColumn, MetaColumn
from smartspider.extract.engine import Engine, LinkKind
from smartspider.extract.jmes import JmesExpression
from smartspider.extract.json_column import (
    JsonColumn,
    JsonFinder,
    Reader,
    Source,
    Within,
    read_page,
    read_texts,
    read_values,
)
from smartspider.extract.links import LinkFinder
from smartspider.extract.objects import Finder
from smartspider.extract.regex_column import (
    Pattern,
    RegexColumn,
    RegexFinder,
    TextsOf,
    own_texts,
    page_texts,
    value_texts,
)
from smartspider.extract.scopes import ScopeKind
from smartspider.extract.selector import Member
from smartspider.extract.value_links import JsonLinks, RegexLinks
from smartspider.extract.wrong import ExpressionWrong

_VALUES_AT_END = re.compile(r"(?:text\(\)|@[\w:.-]+|@\*)\s*$")


class WithinWrong(ExpressionWrong):
    """The CSS of `in` is wrong."""


class OneRule:
    """A rule that fits into places of a kind. Everything raises `ExpressionWrong`."""

    def __init__(self, rule: ValueRule, kind: ScopeKind, engine: Engine) -> None:
        self._rule = rule
        self._kind = kind
        self._engine = engine
        self._is_page = kind == "page"

    def column(self) -> Column:
        """Its values."""
        rule, engine = self._rule, self._engine
        match rule.type:
            case "const":
                return ConstColumn(rule)
            case "meta":
                return MetaColumn(rule)
            case "css":
                return engine.css_column(rule, self._members(), self._is_page)
            case "xpath":
                return engine.xpath.xpath_column(rule, _text(rule.expr))
            case "regex":
                texts_of, is_markup = self._texts()
                return RegexColumn(rule, self._pattern(), texts_of, is_markup=is_markup)
            case _:
                return JsonColumn(rule, self._reader(), self._jmespath())

    def finder(self) -> Finder:
        """Its matches as places to look into."""
        rule, engine = self._rule, self._engine
        match rule.type:
            case "const" | "meta":
                raise ExpressionWrong(None, f"a {rule.type} rule finds nothing to look into")
            case "css":
                members = self._members()
                if any(member.take != "element" for member in members):
                    raise ExpressionWrong(
                        None, "it gives values, not elements", "leave the pseudo-element out"
                    )
                return engine.css_finder(members, self._is_page)
            case "xpath":
                if _VALUES_AT_END.search(_text(rule.expr)):
                    raise ExpressionWrong(None, "it gives values, not elements", "stop at the element")
                return engine.xpath.xpath_finder(rule.expr)
            case "regex":
                return RegexFinder(self._pattern(), self._texts()[0])
            case _:
                return JsonFinder(self._reader(), self._jmespath())

    def links(self, link: LinkKind) -> LinkFinder:
        """The links it finds."""
        rule, engine = self._rule, self._engine
        match rule.type:
            case "css":
                members = self._members()
                if link.is_href and any(member.take in {"text", "deep_text"} for member in members):
                    raise ExpressionWrong(
                        None, "it gives text, not links", "select elements, or use ::attr(name)"
                    )
                return engine.css_links(members, link, self._is_page)
            case "xpath":
                return engine.xpath.xpath_links(_text(rule.expr), link)
            case "jmespath":
                return JsonLinks(self._reader(), JmesExpression(_text(rule.expr)), is_href=link.is_href)
            case "regex":
                texts_of, is_markup = self._texts()
                return RegexLinks(self._pattern(), texts_of, is_href=link.is_href, is_markup=is_markup)
            case _:
                raise ExpressionWrong(None, f"a rule of type {rule.type!r} finds no links", "use css")

    def _members(self) -> tuple[Member, ...]:
        rule = self._rule
        members = self._engine.check(_text(rule.expr))
        if rule.attr is None:
            return members
        if any(member.take != "element" for member in members):
            raise ExpressionWrong(None, "it has a pseudo-element, and `attr` is given too", "use one of them")
        return tuple(member._replace(take="attr", attr=rule.attr) for member in members)

    def _reader(self) -> Reader:
        rule = self._rule
        if rule.type not in EXPRESSIONS:
            from smartspider.extract.sources import require_source

            require_source(rule.type)
            return Source(rule.type, self._engine.markup)
        if rule.within is None:
            readers: dict[ScopeKind, Any] = {"page": read_page, "values": read_values, "texts": read_texts}
            reader: Reader = readers[self._kind]
            return reader
        try:
            members = self._engine.check(rule.within)
        except ExpressionWrong as wrong:
            raise WithinWrong(wrong.at, wrong.what, wrong.hint) from None
        return Within(rule.within, self._engine.css_texts(members, self._is_page))

    def _jmespath(self) -> JmesExpression | None:
        rule = self._rule
        if rule.expr is None and rule.type not in EXPRESSIONS:
            return None
        return JmesExpression(_text(rule.expr))

    def _pattern(self) -> Pattern:
        try:
            return Pattern(_text(self._rule.expr))
        except re.error as wrong:
            raise ExpressionWrong(wrong.pos, wrong.msg) from None

    def _texts(self) -> tuple[TextsOf, bool]:
        """What regular expressions are searched in, and whether it is markup."""
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
        raise ExpressionWrong(None, f"an expression is text, not {expr!r}")
    return expr
