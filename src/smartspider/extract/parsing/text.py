"""Texts as values have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document


def collapse(text: str) -> str:
    """The text trimmed, with every run of whitespace one space."""
    if text.isprintable() and "  " not in text:
        # Whitespace other than the space is not printable: nothing to collapse, at a fraction of the cost.
        return text.strip(" ")
    return " ".join(text.split())


def text_of(node: LexborNode, document: Document) -> str:
    """An element's text with whitespace collapsed, without the scripts and styles inside it."""
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


def as_text(value: Any) -> str:
    """A JSON value as text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        # A lone surrogate, which is taken out later.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
