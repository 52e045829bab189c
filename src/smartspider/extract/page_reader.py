"""Read a page by the compiled rules of its type."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from smartspider.core.errors import NotReadable, PatternTimeout
from smartspider.core.pages.extraction import Extraction, Item, RejectedItem
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.core.workers import activity
from smartspider.extract.fields.columns import FieldColumn, ItemState
from smartspider.extract.fields.scopes import PageScope, ScopeKind, SearchScope
from smartspider.extract.links.follows import ExtractedLinks
from smartspider.extract.links.page_links import PageItems
from smartspider.extract.parsing.decoding import clean, has_undecodable
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.rules.page_compiler import PageRules


class PageReader:
    """Reads pages of one type: HTML with the engine of the type, XML always with lxml."""

    def __init__(
        self, rules: PageRules, xml_rules: Callable[[], PageRules], *, is_on_lxml: bool, emits: bool
    ) -> None:
        self._rules = rules
        self._make_xml_rules = xml_rules
        self._xml_rules: PageRules | None = None
        self._is_on_lxml = is_on_lxml
        self._emits = emits

    def read(self, page: Page, request: Request) -> Extraction:
        """Extract the items and links of a page; raise `NotReadable`."""
        document = Document(page, request, is_on_lxml=self._is_on_lxml)
        rules = self._for_xml() if document.is_xml else self._rules
        whole = PageScope(document)
        kind, scope = _find_scope(rules, whole)
        fields = rules.fields.get(kind, {})
        items: list[Item] = []
        rejected: list[RejectedItem] = []
        if fields and scope is not None:
            items, missing = _read_items(fields, scope)
        found, base = ExtractedLinks([]), page.url
        if rules.links is not None:
            found_items = PageItems(kind, scope, items, len(items), bool(fields))
            found, base = rules.links.find(whole, found_items), base_of(document)
        if fields and scope is not None:
            items, rejected = _split_rejected(items, missing, document)
        return Extraction(
            items if self._emits else [],
            found.links,
            base,
            rejected if self._emits else [],
            document.cleaned,
            found.dropped,
            carries_dropped=found.carries_dropped,
            unemitted=[] if self._emits else items,
            refusal=found.refusal,
            has_undecodable=has_undecodable(page),
        )

    def _for_xml(self) -> PageRules:
        rules = self._xml_rules
        if rules is None:
            rules = self._xml_rules = self._make_xml_rules()
        return rules


def _find_scope(rules: PageRules, whole: PageScope) -> tuple[ScopeKind, SearchScope | None]:
    """Find the items; return their kind and scope, or None if no rule needs them."""
    if not rules.items:
        return "page", whole
    kind = rules.items[0].kind
    if not any(rules.fields.values()) and (rules.links is None or not rules.links.searches_items):
        return kind, None
    unreadable: NotReadable | None = None
    is_read = False
    for finder, kind in rules.items:
        try:
            (found,) = finder.find(whole)
        except PatternTimeout as slow:
            raise slow.at("selectors.items") from None
        except NotReadable as wrong:
            unreadable = unreadable or wrong
            continue
        is_read = True
        if found:
            return kind, finder.scope(whole.document, found, range(len(found)))
    if not is_read and unreadable is not None:
        raise unreadable
    return kind, finder.scope(whole.document, [], ())


def _read_items(fields: dict[str, FieldColumn], scope: SearchScope) -> tuple[list[Item], dict[int, str]]:
    """Return all items, and the first missing required field of incomplete ones."""
    missing: dict[int, str] = {}
    columns = [_complete_values(name, field, scope, missing) for name, field in fields.items()]
    # There are as many names as columns: an unchecked zip costs half as much.
    items: list[Item] = [dict(row) for row in map(zip, repeat(tuple(fields)), zip(*columns, strict=True))]
    if scope.document.has_invalid:
        items = [_clean_item(item, scope.document) for item in items]
    return items, missing


def _complete_values(name: str, field: FieldColumn, scope: SearchScope, missing: dict[int, str]) -> list[Any]:
    """Return the final values of a field, and record items in which a required field is missing."""
    try:
        values = field.values(scope)
    except PatternTimeout as slow:
        raise slow.at(f"selectors.fields.{name}") from None
    if not field.needs_finish and None not in values:
        return values
    if field.needs_finish:
        activity.enter(activity.STEPS)
    for index, value in enumerate(values):
        if value is None or field.needs_finish:
            state = ItemState(scope.document, index)
            values[index] = field.complete(value, name, state)
            if state.missing:
                missing.setdefault(index, state.missing[0])
    activity.enter(activity.EXTRACT)
    return values


def _split_rejected(
    items: list[Item], missing: dict[int, str], document: Document
) -> tuple[list[Item], list[RejectedItem]]:
    """Split items into kept and rejected ones."""
    refused = document.rejected
    if not missing and not refused:
        return items, []
    kept: list[Item] = []
    rejected: list[RejectedItem] = []
    for index, item in enumerate(items):
        if index in refused:
            field, why = refused[index]
            value = clean(why.value)[0]
            rejected.append(RejectedItem(f"{field} {why.reason}", item, why.step, field, value))
        elif index in missing:
            rejected.append(
                RejectedItem(f"required field {missing[index]!r} is missing", item, field=missing[index])
            )
        else:
            kept.append(item)
    return kept, rejected


def _clean_item(item: Item, document: Document) -> Item:
    cleaned, count = clean(item)
    document.cleaned += count
    result: Item = cleaned
    return result
