"""The same rule asked of SmartSpider and of parsel."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree
from lxml.html import HTMLParser
from parsel import Selector
from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.core.pages.page import Page
from smartspider.core.pages.rules import PagePlan, RuleType, ValueRule
from smartspider.core.requests.request import make_request
from smartspider.core.requests.scope import TrapGuards
from smartspider.extract.compile import compile_pages
from smartspider.interfaces.extractor import Extractor

_MAKER = HTMLParser()
URL = "http://h.example/"
NEVER = "//smartspider-never"
"""An XPath that finds nothing, for a page type that is to be read by lxml."""


class Asked:
    """Rules compiled as one page type; with `items` they are relative to it. Answers are raw lists."""

    def __init__(self, rules: list[tuple[RuleType, str]], items: tuple[RuleType, str] | None = None) -> None:
        self.rules = rules
        self.items = items
        self._extractor = self._compiled(forced=False)

    def on_lxml(self) -> Asked:
        """The same rules, read by lxml because one of them is XPath."""
        other = Asked(self.rules, self.items)
        other._extractor = self._compiled(forced=True)
        return other

    def _compiled(self, *, forced: bool) -> Extractor:
        fields: dict[str, Any] = {
            str(number): ValueRule(kind, expr, many=True, is_raw=True)
            for number, (kind, expr) in enumerate(self.rules)
        }
        if forced:
            fields["never"] = ValueRule("xpath", NEVER)
        items = () if self.items is None else (ValueRule(*self.items),)
        return compile_pages({"default": PagePlan("default", items=items, fields=fields)}, TrapGuards())

    def ours(self, html: str) -> list[list[list[str]]]:
        """For each item, for each rule, all values."""
        page = Page(URL, 200, {"content-type": "text/html"}, html.encode(), "utf-8", 0.0)
        extraction = self._extractor.extract(page, make_request(URL))
        return [[item[str(number)] for number in range(len(self.rules))] for item in extraction.items]

    def parsels(self, selector: Selector) -> list[list[list[str]]]:
        """The same from parsel."""
        tops = [selector] if self.items is None else _select(selector, *self.items)
        return [[_select(top, kind, expr).getall() for kind, expr in self.rules] for top in tops]


def _select(selector: Selector, kind: str, expr: str) -> Any:
    return selector.css(expr) if kind == "css" else selector.xpath(expr)


def html5_selector(html: str) -> Selector:
    """parsel on the tree that the HTML standard wants, which Lexbor builds."""
    parser = LexborHTMLParser(html.encode())
    assert parser.root is not None
    return Selector(root=_lxml_tree(parser.root), type="html")


def _lxml_tree(node: LexborNode) -> Any:
    element = _MAKER.makeelement(_name(node.tag or "x"))
    for name, value in node.attributes.items():
        element.set(_name(name), value)  # type: ignore[arg-type] # an HTML attribute may have no value
    last: Any = None
    for child in node.iter(include_text=True):
        if child.is_text_node:
            text = child.text_content or ""
            if last is None:
                element.text = (element.text or "") + text
            else:
                last.tail = (last.tail or "") + text
        elif child.is_element_node:
            last = _lxml_tree(child)
            element.append(last)
        elif child.is_comment_node:
            last = etree.Comment(_comment((child.html or "")[4:-3]))
            element.append(last)
    return element


def _comment(text: str) -> str:
    """A comment that lxml lets one make by hand."""
    return re.sub(r"--+|-$", " ", text)


def _name(name: str) -> str:
    """A name that lxml lets one set by hand, the same as before where it can be."""
    kept = "".join(char if char.isalnum() or char in "-_" else "_" for char in name)
    return kept if kept and (kept[0].isalpha() or kept[0] == "_") else f"_{kept}"
