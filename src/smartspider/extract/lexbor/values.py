"""Values of matched nodes in document order, as parsel's `getall()` returns them.

Unless values are raw, text nodes are trimmed and elements are their collapsed text instead of HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selectolax.lexbor import LexborNode

from smartspider.extract.lexbor.outer_html import outer_html
from smartspider.extract.lexbor.query import MARK, Query
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import text_of

Found = list[tuple[Query, list[LexborNode]]]
"""The queries of one expression, with their matches."""


def serialize_html(node: LexborNode) -> str:
    """Serialize an element."""
    return outer_html(node, MARK)


def list_values(found: Found, top: LexborNode, document: Document, *, is_raw: bool) -> list[str]:
    """Return the values of nodes that were found in `top`, in document order."""
    if len(found) > 1:
        return list(_merged(found, top, document, is_raw))
    query, nodes = found[0]
    match query.take:
        case "element" if is_raw:
            return [serialize_html(node) for node in nodes]
        case "element":
            return [text_of(node, document) for node in nodes]
        case "attr":
            attributes = (node.attrs.sget(query.attr, None) for node in nodes)
            return [value for value in attributes if value is not None]
        case "text":
            texts = _own_texts(nodes, top)
        case "deep_text":
            texts = list(_deep_texts(nodes).values())
    return texts if is_raw else [text.strip() for text in texts]


def _own_texts(nodes: list[LexborNode], top: LexborNode) -> list[str]:
    texts = []
    for node in nodes:
        child = node.first_child
        if child is not None and child.next is not None and len(nodes) > 1:
            # Matches may contain each other, and then their text nodes interleave.
            by_id = _texts_by_id(nodes)
            return [by_id[inner.mem_id] for inner in top.traverse(include_text=True) if inner.mem_id in by_id]
        texts += [text for inner in node.iter(include_text=True) if (text := inner.text_content) is not None]
    return texts


def _texts_by_id(nodes: Iterable[LexborNode]) -> dict[int, str]:
    return {
        inner.mem_id: text
        for node in nodes
        for inner in node.iter(include_text=True)
        if (text := inner.text_content) is not None
    }


def _deep_texts(nodes: Iterable[LexborNode]) -> dict[int, str]:
    return {
        inner.mem_id: text
        for node in nodes
        for inner in node.traverse(include_text=True)
        if (text := inner.text_content) is not None
    }


def _merged(found: Found, top: LexborNode, document: Document, is_raw: bool) -> Iterator[str]:
    """Merge values: an element comes before its attributes, and these before its text."""
    elements = {node.mem_id for query, nodes in found if query.take == "element" for node in nodes}
    attributes: dict[int, set[str]] = {}
    texts: dict[int, str] = {}
    for query, nodes in found:
        if query.take == "attr":
            for node in nodes:
                attributes.setdefault(node.mem_id, set()).add(query.attr.lower())
        elif query.take != "element":
            texts |= _texts_by_id(nodes) if query.take == "text" else _deep_texts(nodes)
    for node in top.traverse(include_text=True):
        key = node.mem_id
        if key in elements:
            yield serialize_html(node) if is_raw else text_of(node, document)
        names = attributes.get(key, ())
        if names:
            yield from (value or "" for name, value in node.attributes.items() if name.lower() in names)
        if key in texts:
            yield texts[key] if is_raw else texts[key].strip()
