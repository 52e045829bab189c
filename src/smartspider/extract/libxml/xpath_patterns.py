"""The EXSLT functions `re:test`, `re:match` and `re:replace`, as lxml has them, in bounded time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lxml import etree

from smartspider.core.patterns.pattern import PatternMatch, UserPattern, user_pattern

NAMESPACE = "http://exslt.org/regular-expressions"


def matches(_context: Any, value: Any, pattern: Any, flags: Any = "") -> bool:
    """Return whether the pattern matches somewhere in the text."""
    return _compiled(pattern, flags).search(_text(value)) is not None


def match(_context: Any, value: Any, pattern: Any, flags: Any = "") -> list[etree._Element]:
    """Return `match` elements: the first match and its groups; with the flag `g`, all matches."""
    compiled, text = _compiled(pattern, flags), _text(value)
    if "g" in _text(flags):
        found = [_groups_or_whole(each, compiled.groups) for each in compiled.finditer(text)]
    else:
        first = compiled.search(text)
        found = [] if first is None else [first[group] or "" for group in range(compiled.groups + 1)]
    root = etree.Element("matches")
    for each in found:
        etree.SubElement(root, "match").text = each
    return list(root)


def replace(_context: Any, value: Any, pattern: Any, flags: Any, replacement: Any) -> str:
    """Return the text with the first match replaced; with the flag `g`, all matches."""
    compiled = _compiled(pattern, flags)
    return compiled.sub(compiled.template(_text(replacement)), _text(value), 0 if "g" in _text(flags) else 1)


FUNCTIONS: dict[tuple[str | None, str], Callable[..., Any]] = {
    (NAMESPACE, "test"): matches,
    (NAMESPACE, "match"): match,
    (NAMESPACE, "replace"): replace,
}


def _compiled(pattern: Any, flags: Any) -> UserPattern:
    return user_pattern(_text(pattern), re.IGNORECASE if "i" in _text(flags) else 0)


def _groups_or_whole(found: PatternMatch, groups: int) -> str:
    return "".join(found[group] or "" for group in range(1, groups + 1)) if groups else str(found[0])


def _text(value: Any) -> str:
    """Return an argument as text; of nodes, that of the first one."""
    first = (value[0] if value else "") if isinstance(value, list) else value
    if isinstance(first, etree._Element):  # noqa: SLF001 - lxml has no other name for it
        return etree.tostring(first, method="text", encoding="unicode", with_tail=False)
    return str(first)
