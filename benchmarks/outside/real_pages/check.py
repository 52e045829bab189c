"""Compare a label with its page alone: the items, the wanted values and the next page are there."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

from benchmarks.outside.real_pages.judge import is_value
from benchmarks.outside.real_pages.labels import Label
from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.fetch.charset.detection import detect_charset


def check_label(label: Label, body: bytes) -> list[str]:
    """Return what does not fit in the label of an HTML page; empty if it is right about the page."""
    content_type = f"{label.type}; charset={label.charset}" if label.charset else label.type
    tree = LexborHTMLParser(body.decode(detect_charset(body, content_type), "replace"))
    items = tree.css(label.items[0])
    faults = [f"{selector} selects nothing" for selector in label.items if not tree.css(selector)]
    if len(items) != label.count:
        return [*faults, f"{len(items)} items, not {label.count}"]
    among = {item.mem_id for item in items}
    base = _base(label, tree)
    for index, row in label.rows.items():
        text, values = _contents(items[int(index)], among, base)
        faults += [
            f"row {index} has no {name} {right}"
            for name, right in row.items()
            if not any(_occurs(one, text, values, label.url) for one in right)
        ]
    return faults + _next_faults(label, tree, base)


def _base(label: Label, tree: LexborHTMLParser) -> str:
    """Return the address that relative links of the page are resolved against."""
    element = tree.css_first("base[href]")
    return urljoin(label.url, element.attributes.get("href") or "") if element else label.url


def _contents(item: LexborNode, among: set[int], base: str) -> tuple[str, list[str]]:
    """Return the text and the attributes of an item and of what stands between it and the next."""
    nodes, following = [item], item.next
    while following is not None and following.mem_id not in among:
        nodes.append(following)
        following = following.next
    if item.tag == "dd" and item.prev is not None:
        nodes += _terms(item)
    attributes = [
        _resolved(name, value, base)
        for node in nodes
        for each in (node, *node.css("*"))
        for name, value in each.attributes.items()
        if value
    ]
    return "".join(_plain(node.text()) for node in nodes), attributes


def _resolved(name: str, value: str, base: str) -> str:
    """Return an attribute; links are absolute."""
    try:
        return urljoin(base, value.strip()) if name in ("href", "src") else value
    except ValueError:
        return value


def _terms(item: LexborNode) -> list[LexborNode]:
    """Return the terms right before a definition."""
    terms, previous = [], item.prev
    while previous is not None and previous.tag != "dd":
        terms.append(previous)
        previous = previous.prev
    return terms


def _occurs(right: Any, text: str, attributes: list[str], url: str) -> bool:
    """Return whether a right value stands in a text or is an attribute; numbers stand beside their text."""
    if not isinstance(right, str):
        return False
    return _plain(right).removesuffix("…") in text or any(is_value(each, [right], url) for each in attributes)


def _next_faults(label: Label, tree: LexborHTMLParser, base: str) -> list[str]:
    """Return a fault if no element of the page has the address of the next page."""
    if label.next is None:
        return []
    there = [_resolved("href", each.attributes.get("href") or "", base) for each in tree.css("[href]")]
    if any(is_value(href, [label.next, *label.next_others], label.url) for href in there):
        return []
    return [f"no link to {label.next}"]


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text)
