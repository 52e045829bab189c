"""JSON-LD: the objects of all scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.sources.json_text import InvalidEmbeddedJson, parse_loose_json

_MOST = 10_000


def read_json_ld(document: Document) -> list[dict[str, Any]]:
    """Return all objects in order, lists and `@graph` flattened, without invalid blocks."""
    objects: list[dict[str, Any]] = []
    for text in _blocks(document):
        try:
            value = parse_loose_json(text)
        except InvalidEmbeddedJson:
            continue
        _flatten(value, objects)
        if len(objects) >= _MOST:
            return objects[:_MOST]
    return objects


def script_text(node: LexborNode) -> str:
    """Return the content of a script element, unchanged."""
    return "".join(child.text_content or "" for child in node.iter(include_text=True))


def media_type_of(node: LexborNode) -> str:
    """Return the `type` of a script element, without parameters, in lower case."""
    return (node.attributes.get("type") or "").partition(";")[0].strip().lower()


def _blocks(document: Document) -> Iterator[str]:
    if document.page.media_type.endswith("json"):
        yield document.page.text
        return
    for node in document.root.css("script[type]"):
        if media_type_of(node) == "application/ld+json":
            yield script_text(node)


def _flatten(value: Any, objects: list[dict[str, Any]]) -> None:
    if isinstance(value, list):
        for inner in value:
            _flatten(inner, objects)
    elif isinstance(value, dict):
        graph = value.get("@graph")
        if not isinstance(graph, list | dict):
            objects.append(value)
            return
        own = {key: inner for key, inner in value.items() if key != "@graph"}
        if own.keys() - {"@context", "@id"}:
            objects.append(own)
        _flatten(graph, objects)
