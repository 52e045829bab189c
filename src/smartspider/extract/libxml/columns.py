"""XPath rules, and CSS rules translated to XPath, on lxml's tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from lxml import etree

from smartspider.core.pages.rules import ValueRule
from smartspider.extract.fields.columns import RuleColumn
from smartspider.extract.fields.scopes import PageScope, SearchScope
from smartspider.extract.libxml.xpath import Strings, XPathExpression
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import collapse, to_text

_TEXT_OF: Any = etree.XPath("string()", smart_strings=False)
_READABLE_TEXTS: Any = etree.XPath(".//text()[not(parent::script or parent::style)]", smart_strings=False)


class LxmlItems(SearchScope):
    """The elements of lxml's tree that are the items of a page."""

    __slots__ = ("nodes",)

    def __init__(self, document: Document, nodes: list[etree._Element], numbers: Sequence[int]) -> None:
        super().__init__(document, numbers)
        self.nodes = nodes


def scope_elements(scope: LxmlItems | PageScope) -> list[etree._Element]:
    """Return the elements at which expressions are evaluated."""
    return [scope.document.tree] if isinstance(scope, PageScope) else scope.nodes


def text_of(node: etree._Element, document: Document) -> str:
    """Return the collapsed text of a node, without its scripts and styles."""
    if not len(node):
        return collapse(node.text or "")
    if node in document.tree_script_holders:
        return collapse("".join(_READABLE_TEXTS(node)))
    return collapse(_TEXT_OF(node))


def serialize_markup(node: etree._Element, document: Document) -> str:
    """Serialize a node as HTML or XML."""
    method = "xml" if document.is_xml else "html"
    markup: str = etree.tostring(node, method=method, encoding="unicode", with_tail=False)
    return markup


class XPathColumn(RuleColumn):
    """Values found by an XPath expression."""

    def __init__(self, rule: ValueRule, expression: XPathExpression) -> None:
        super().__init__(rule)
        self._expression = expression
        self._is_raw = rule.is_raw
        self._join = rule.join
        self._is_many = rule.many or rule.join is not None
        self._string = _STRINGS["attributes" if rule.is_raw else expression.strings]

    def values(self, scope: LxmlItems | PageScope) -> list[Any]:
        """Return the values, found item by item."""
        document = scope.document
        results = self._expression.results(document, scope_elements(scope))
        if self._is_many:
            return [self._all(result, document) for result in results]
        values: list[Any] = []
        string = self._string
        for result in results:
            if type(result) is not list:
                values.append(self._scalar(result))
            elif not result:
                values.append(None)
            else:
                first = result[0]
                values.append(string(first) if isinstance(first, str) else self._node(first, document))
        return values

    def _all(self, result: Any, document: Document) -> Any:
        if type(result) is list:
            values: list[Any] = [
                self._string(each) if isinstance(each, str) else self._node(each, document) for each in result
            ]
        else:
            values = [self._scalar(result)]
        kept = [each for each in values if each is not None and (self._is_raw or each != "")]
        if not kept:
            return None
        return kept if self._join is None else self._join.join(map(to_text, kept))

    def _node(self, node: etree._Element, document: Document) -> str:
        return serialize_markup(node, document) if self._is_raw else text_of(node, document)

    def _scalar(self, result: Any) -> Any:
        """Convert the result of a function. Numbers and booleans stay; empty text is None."""
        if self._is_raw:
            return str(int(result)) if isinstance(result, bool) else str(result)
        if isinstance(result, str):
            return result.strip() or None
        if isinstance(result, bool):
            return result
        if not math.isfinite(result):
            return None
        return int(result) if result == int(result) else result


def _trimmed_text(found: Any) -> str:
    """Trim text, but not attribute values; the string knows its origin."""
    return str(found) if found.is_attribute else str(found).strip()


_STRINGS: dict[Strings, Callable[[Any], str]] = {
    "texts": str.strip,
    "attributes": str,
    "mixed": _trimmed_text,
}


class XPathFinder:
    """Finds elements to search in."""

    def __init__(self, expression: XPathExpression) -> None:
        self._expression = expression

    def find(self, scope: LxmlItems | PageScope) -> list[list[etree._Element]]:
        """Return the elements per entry; other results are left out."""
        return [
            [each for each in result if etree.iselement(each) and isinstance(each.tag, str)]
            if isinstance(result, list)
            else []
            for result in self._expression.results(scope.document, scope_elements(scope))
        ]

    def scope(self, document: Document, found: list[etree._Element], numbers: Sequence[int]) -> LxmlItems:
        """Return the elements as a scope."""
        return LxmlItems(document, found, numbers)


class XPathTexts:
    """Reads texts of elements or attributes that contain data rather than markup."""

    def __init__(self, expression: XPathExpression) -> None:
        self._expression = expression

    def read(self, scope: LxmlItems | PageScope) -> list[list[str]]:
        """Return all texts per entry, unchanged."""
        return [
            [each if isinstance(each, str) else _TEXT_OF(each) for each in result]
            for result in self._expression.results(scope.document, scope_elements(scope))
        ]
