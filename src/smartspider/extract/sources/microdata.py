"""Microdata: items and their properties, as defined by the HTML standard.

With three extensions of search engines: `content` counts on every element, schema.org types lose their URL,
so that an item looks like its JSON-LD, and an item that is a property of no other stands on its own.
"""

from __future__ import annotations

from typing import Any

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.sources.values import TextBudget, to_absolute_url

_MOST = 20_000
_DEEPEST = 30
_MOST_REFERENCES = 50
_URL_ATTRIBUTE = dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src") | {
    "a": "href",
    "area": "href",
    "link": "href",
    "object": "data",
}
_VALUE_ATTRIBUTE = {"data": "value", "meter": "value", "time": "datetime"}
_VOCABULARIES = (
    "http://schema.org/",
    "https://schema.org/",
    "http://www.schema.org/",
    "https://www.schema.org/",
)


def read_microdata(document: Document) -> list[dict[str, Any]]:
    """Return the top-level items of the page, with others nested in them."""
    return _Microdata(document).items()


class _Microdata:
    """The items of one page. `_spent` counts properties, so that references cannot multiply them."""

    def __init__(self, document: Document) -> None:
        root = document.root
        self._scopes = root.css("[itemscope]")[:_MOST]
        self._scope_ids = {node.mem_id for node in self._scopes}
        self._owners: dict[int, int | None] = {}
        self._properties: dict[int, list[LexborNode]] = {}
        self._referenced: set[int] = set()
        self._root = root
        self._base = base_of(document)
        self._texts = TextBudget(document)
        self._spent = 0
        if self._scopes:
            for node in root.css("[itemprop]")[:_MOST]:
                owner = self._owner(node)
                if owner is not None:
                    self._properties.setdefault(owner, []).append(node)
            self._add_referenced()

    def items(self) -> list[dict[str, Any]]:
        """Return the items that are not a property of another."""
        return [self._item(node, ()) for node in self._scopes if self._is_outer(node)]

    def _is_outer(self, node: LexborNode) -> bool:
        if "itemprop" not in node.attributes:
            return True
        return self._owner(node) is None and node.mem_id not in self._referenced

    def _owner(self, node: LexborNode) -> int | None:
        """Return the id of the nearest item around an element; each element on the way is visited once."""
        way: list[int] = []
        owner: int | None = None
        parent = node.parent
        while parent is not None:
            key = parent.mem_id
            if key in self._scope_ids:
                owner = key
                break
            if key in self._owners:
                owner = self._owners[key]
                break
            way.append(key)
            parent = parent.parent
        for key in way:
            self._owners[key] = owner
        return owner

    def _add_referenced(self) -> None:
        """Resolve `itemref`: properties at other positions."""
        wanted = [(node, node.attributes.get("itemref")) for node in self._scopes]
        if not any(names for _, names in wanted):
            return
        by_id = {
            key: node for node in reversed(self._root.css("[id]")[:_MOST]) if (key := node.attributes["id"])
        }
        left = _MOST
        for scope, names in wanted:
            for name in (names or "").split()[:_MOST_REFERENCES]:
                target = by_id.get(name)
                if target is None or left <= 0:
                    continue
                found = self._properties_at(target)
                left -= len(found) + 1
                self._referenced.update(inner.mem_id for inner in found)
                self._properties.setdefault(scope.mem_id, []).extend(found)

    def _properties_at(self, target: LexborNode) -> list[LexborNode]:
        if "itemscope" in target.attributes:
            return [target] if "itemprop" in target.attributes else []
        around = self._owner(target)
        # An element matches itself.
        return [node for node in target.css("[itemprop]") if self._owner(node) == around]

    def _item(self, node: LexborNode, within: tuple[int, ...]) -> dict[str, Any]:
        attributes = node.attributes
        item: dict[str, Any] = {}
        types = [_type_name(name) for name in (attributes.get("itemtype") or "").split()]
        if types:
            item["@type"] = types[0] if len(types) == 1 else types
        identity = (attributes.get("itemid") or "").strip()
        if identity:
            item["@id"] = to_absolute_url(identity, self._base) or identity
        within = (*within, node.mem_id)
        for inner in self._properties.get(node.mem_id, ()):
            if inner.mem_id in within or self._spent >= _MOST:
                continue
            self._spent += 1
            value = self._value(inner, within)
            if value is not None:
                for name in (inner.attributes.get("itemprop") or "").split():
                    _add(item, name, value)
        return item

    def _value(self, node: LexborNode, within: tuple[int, ...]) -> Any:
        attributes = node.attributes
        if "itemscope" in attributes:
            return self._item(node, within) if len(within) < _DEEPEST else None
        content = attributes.get("content")
        if content is not None:
            return content.strip()
        tag = node.tag or ""
        if tag in _URL_ATTRIBUTE:
            address = attributes.get(_URL_ATTRIBUTE[tag]) or ""
            return to_absolute_url(address, self._base) or address.strip()
        given = attributes.get(_VALUE_ATTRIBUTE.get(tag, ""))
        return given.strip() if given is not None else self._texts.read(node)


def _type_name(name: str) -> str:
    for vocabulary in _VOCABULARIES:
        if name.startswith(vocabulary):
            return name[len(vocabulary) :] or name
    return name


def _add(item: dict[str, Any], name: str, value: Any) -> None:
    if name not in item:
        item[name] = value
    elif isinstance(item[name], list):
        item[name].append(value)
    else:
        item[name] = [item[name], value]
