"""JSON in scripts: JSON-LD, and the state that a page passes to its own scripts. Scripts are never run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.json_parser import parse_js_string
from smartspider.extract.sources.json_text import (
    EmbeddedJson,
    InvalidEmbeddedJson,
    find_first_json,
    parse_loose_json,
)

_MOST_OBJECTS = 10_000


def read_json_ld(document: Document) -> list[dict[str, Any]]:
    """Return all objects in order, lists and `@graph` flattened, without invalid blocks."""
    objects: list[dict[str, Any]] = []
    for text in _blocks(document):
        try:
            value = parse_loose_json(text)
        except InvalidEmbeddedJson:
            continue
        _flatten(value, objects)
        if len(objects) >= _MOST_OBJECTS:
            return objects[:_MOST_OBJECTS]
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


_SCRIPTS = frozenset({"", "text/javascript", "application/javascript", "module", "text/ecmascript"})
_MOST_VALUES = 500
_NOT_STATE = frozenset({"application/ld+json", "application/manifest+json"})
_ASSIGNMENT = re.compile(
    r"""
    (?: \b (?:window|self|globalThis|top) \s*+
        (?: \.\s*+ (?P<dotted>[\w$]++) | \[\s*+["'](?P<quoted>[^"'\]\s]{1,200}+)["']\s*+\] )
      | \b (?:var|let|const) \s++ (?P<declared>[\w$]++)
      | (?<![\w$.]) (?P<bare>__[A-Z][A-Z0-9_]*+) )
    \s*+ = (?![=>]) \s*+
    (?: [\w$.]{1,200}+ \s*+ \|\| \s*+ )?
    (?: (?P<parse>JSON\s*+\.\s*+parse\s*+\(\s*+) | (?P<value>(?=[{\[])) )
    """,
    re.VERBOSE,
)


def read_state(document: Document) -> dict[str, Any]:
    """Return JSON scripts by id, and the JSON values that scripts assign to names."""
    state: dict[str, Any] = {}
    budget = _Budget(len(document.page.body))
    for node in document.root.css("script"):
        if len(state) >= _MOST_VALUES:
            break
        if "src" in node.attributes:
            continue
        kind = media_type_of(node)
        if kind in _SCRIPTS:
            for name, value in _assigned(script_text(node), budget):
                if value or name not in state:
                    state[name] = value
        elif kind.endswith("json") and kind not in _NOT_STATE:
            name = (node.attributes.get("id") or "").strip()
            if name:
                try:
                    state[name] = parse_loose_json(script_text(node))
                except InvalidEmbeddedJson:
                    continue
    return state


class _Budget:
    """The characters of a page that may still be read; reading a text twice counts twice."""

    def __init__(self, size: int) -> None:
        self.attempts = _MOST_VALUES
        self.characters = 4 * size + 1_000_000


def _assigned(script: str, budget: _Budget) -> Iterator[tuple[str, Any]]:
    position = 0
    while budget.attempts > 0 and budget.characters > 0:
        found = _ASSIGNMENT.search(script, position)
        if found is None:
            return
        budget.attempts -= 1
        name = found["dotted"] or found["quoted"] or found["declared"] or found["bare"]
        try:
            value, position = _value_at(script, found)
        except InvalidEmbeddedJson as broken:
            # The error counts lines from the start of the script.
            budget.characters -= max(broken.at - found.end(), 0) + len(script) // 16
            position = found.end()
        else:
            budget.characters -= position - found.end()
            yield name, value


def _value_at(script: str, found: re.Match[str]) -> EmbeddedJson:
    if found["parse"] is None:
        return find_first_json(script, found.end())
    literal = parse_js_string(script, found.end())
    if literal is None:
        raise InvalidEmbeddedJson(found.end())
    return EmbeddedJson(parse_loose_json(literal.text), literal.end)
