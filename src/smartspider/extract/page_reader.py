"""One page type at work: items from its fields, links from its rules."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from smartspider.core.errors import NotReadable
from smartspider.core.pages.extraction import Extraction, Item, RejectedItem
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.extract.cleaning import clean
from smartspider.extract.columns import Case, Column
from smartspider.extract.directives import base_of
from smartspider.extract.document import Document
from smartspider.extract.links import FoundLinks, Places
from smartspider.extract.page_rules import PageRules
from smartspider.extract.scopes import Scope, ScopeKind, WholePage


class PageReader:
    """Reads pages of one type: HTML by the engine of the type, XML always by lxml."""

    def __init__(
        self, rules: PageRules, xml_rules: Callable[[], PageRules], *, is_on_lxml: bool, emits: bool
    ) -> None:
        self._rules = rules
        self._make_xml_rules = xml_rules
        self._xml_rules: PageRules | None = None
        self._is_on_lxml = is_on_lxml
        self._emits = emits

    def read(self, page: Page, request: Request) -> Extraction:
        """Items and links of the page; raises `NotReadable`."""
        document = Document(page, request, is_on_lxml=self._is_on_lxml)
        rules = self._for_xml() if document.is_xml else self._rules
        whole = WholePage(document)
        kind, scope = _places(rules, whole)
        fields = rules.fields.get(kind, {})
        items: list[Item] = []
        rejected: list[RejectedItem] = []
        if fields and scope is not None:
            items, lacking = _read_items(fields, scope)
        found, base = FoundLinks([]), page.url
        if rules.links is not None:
            places = Places(kind, scope, items, len(items), bool(fields))
            found, base = rules.links.find(whole, places), base_of(document)
        if fields and scope is not None:
            items, rejected = _sorted_out(items, lacking, document)
        return Extraction(
            items if self._emits else [],
            found.links,
            base,
            rejected if self._emits else [],
            document.cleaned,
            found.dropped,
            carries_dropped=found.carries_dropped,
            unemitted=[] if self._emits else items,
        )

    def _for_xml(self) -> PageRules:
        rules = self._xml_rules
        if rules is None:
            rules = self._xml_rules = self._make_xml_rules()
        return rules


def _places(rules: PageRules, whole: WholePage) -> tuple[ScopeKind, Scope | None]:
    """Where the fields are looked up, and of which kind that is; nowhere when nobody would look."""
    if not rules.items:
        return "page", whole
    kind = rules.items[0].kind
    if not any(rules.fields.values()) and (rules.links is None or not rules.links.looks_into_items):
        return kind, None
    unreadable: NotReadable | None = None
    is_read = False
    for finder, kind in rules.items:
        try:
            (found,) = finder.find(whole)
        except NotReadable as wrong:
            unreadable = unreadable or wrong
            continue
        is_read = True
        if found:
            return kind, finder.scope(whole.document, found, range(len(found)))
    if not is_read and unreadable is not None:
        raise unreadable
    return kind, finder.scope(whole.document, [], ())


def _read_items(fields: dict[str, Column], scope: Scope) -> tuple[list[Item], dict[int, str]]:
    """All items, and for those that lack a required field its name."""
    lacking: dict[int, str] = {}
    columns = [_settled(name, field, scope, lacking) for name, field in fields.items()]
    # As many names as columns: a zip without a check of it costs half as much.
    items: list[Item] = [dict(row) for row in map(zip, repeat(tuple(fields)), zip(*columns, strict=True))]
    if scope.document.is_stained:
        items = [_cleaned(item, scope.document) for item in items]
    return items, lacking


def _settled(name: str, field: Column, scope: Scope, lacking: dict[int, str]) -> list[Any]:
    """A field's values with defaults in; notes the first required field that each item lacks."""
    values = field.column(scope)
    if not field.is_open and None not in values:
        return values
    for index, value in enumerate(values):
        if value is None or field.is_open:
            case = Case(scope.document, index)
            values[index] = field.settle(value, name, case)
            if case.lacks:
                lacking.setdefault(index, case.lacks[0])
    return values


def _sorted_out(
    items: list[Item], lacking: dict[int, str], document: Document
) -> tuple[list[Item], list[RejectedItem]]:
    """The items that are kept, and those that are not."""
    refused = document.refused
    if not lacking and not refused:
        return items, []
    kept: list[Item] = []
    rejected: list[RejectedItem] = []
    for index, item in enumerate(items):
        if index in refused:
            field, why = refused[index]
            value = clean(why.value)[0]
            rejected.append(RejectedItem(f"{field} {why.reason}", item, why.step, field, value))
        elif index in lacking:
            rejected.append(RejectedItem(f"required field {lacking[index]!r} is missing", item))
        else:
            kept.append(item)
    return kept, rejected


def _cleaned(item: Item, document: Document) -> Item:
    cleaned, count = clean(item)
    document.cleaned += count
    result: Item = cleaned
    return result
