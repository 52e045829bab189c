"""Values of matched nodes in document order, as parsel's `getall()` returns them.

Unless values are raw, text nodes are trimmed and elements are their collapsed text instead of HTML.
Raw elements are serialized as libxml2 would, so that they equal parsel's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from selectolax.lexbor import LexborNode

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


_VOID = frozenset("area base basefont br col frame hr img input isindex link meta param".split())
_NO_END_WHEN_EMPTY = frozenset({"li"})
_UNESCAPED = frozenset({"script", "style"})
_BOOLEAN = frozenset(
    "checked compact declare defer disabled ismap multiple nohref noresize noshade nowrap readonly "
    "selected".split()
)
_LINKS = frozenset({"href", "src", "action"})
_BLANKS = " \t\n\r"
_UNSAFE = re.compile(r"""[^A-Za-z0-9\-_.!~*'()"#$%&+,/:;<=>?@\[\\\]^`{|}]""")
"""Characters that libxml2 percent-encodes in a link."""
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def outer_html(node: LexborNode, hidden: str) -> str:
    """Serialize the element without the attribute `hidden`."""
    parts: list[str] = []
    stack: list[tuple[LexborNode | None, str]] = [(node, "")]
    while stack:
        current, text = stack.pop()
        if current is None:
            parts.append(text)
            continue
        if current.is_comment_node:
            parts.append(current.html or "")
        elif current.is_text_node:
            parts.append(text or (current.text_content or "").translate(_TEXT))
        elif current.is_element_node:
            _open(current, hidden, parts, stack)
        else:
            parts.append(_instruction(current))
    return "".join(parts)


def _open(
    node: LexborNode, hidden: str, parts: list[str], stack: list[tuple[LexborNode | None, str]]
) -> None:
    tag = node.tag or ""
    parts.append(f"<{tag}{_attributes(node.attributes, hidden, tag)}>")
    if tag in _VOID:
        return
    if node.first_child is not None or tag not in _NO_END_WHEN_EMPTY:
        stack.append((None, f"</{tag}>"))
    if tag == "template" and node.first_child is None:
        parts.append(node.inner_html or "")  # its content is a document of its own, which is not walked
        return
    is_raw = tag in _UNESCAPED
    children = [(child, child.text_content or "" if is_raw else "") for child in node.iter(include_text=True)]
    stack.extend(reversed(children))


def _attributes(attributes: dict[str, str | None], hidden: str, tag: str) -> str:
    return "".join(
        f" {name}" + _value(name, value, tag) for name, value in attributes.items() if name != hidden
    )


def _value(name: str, value: str | None, tag: str) -> str:
    if value is None or name in _BOOLEAN:
        return ""
    if name in _LINKS or (name == "name" and tag == "a"):
        value = _UNSAFE.sub(_percent, value.lstrip(_BLANKS))
    text = value.translate(_TEXT)
    if '"' not in text:
        return f'="{text}"'
    return f"='{text}'" if "'" not in text else '="' + text.replace('"', "&quot;") + '"'


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode(errors="replace"))


def _instruction(node: Any) -> str:
    """Serialize `<?pi x?>`, which the HTML parser of libxml2 reads as a comment."""
    html = node.html or ""
    return f"<!--{html[1:-1]}-->" if html.startswith("<?") else html
