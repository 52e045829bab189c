"""Text of elements and values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document


def collapse(text: str) -> str:
    """Trim the text and collapse each run of whitespace to one space."""
    if text.isprintable() and "  " not in text:
        # Whitespace other than the space is not printable: a cheap check that there is nothing to collapse.
        return text.strip(" ")
    return " ".join(text.split())


def text_of(node: LexborNode, document: Document) -> str:
    """Return the collapsed text of an element, without its scripts and styles."""
    child = node.first_child
    if child is None:
        return ""
    text = child.text_content
    if text is None or child.next is not None:
        has_script = node.mem_id in document.script_holders
        text = "".join(_readable_texts(node)) if has_script else node.text()
    return collapse(text)


def _readable_texts(node: LexborNode) -> Iterator[str]:
    for inner in node.traverse(include_text=True):
        text = inner.text_content
        if text is not None:
            parent = inner.parent
            if parent is None or parent.tag not in {"script", "style"}:
                yield text


def to_text(value: Any) -> str:
    """Return a string unchanged, and any other JSON value as JSON."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        # A lone surrogate, which is removed later.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
