"""A page as one item: its metadata, its heading, and its table of details."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from smartspider.extract.parsing.document import Document
from smartspider.extract.sources import read_source
from smartspider.suggest.html.fields.naming import to_field_name
from smartspider.suggest.html.selector_names import name_selectors, quote_css
from smartspider.suggest.html.selectors import ItemSelectors
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.json_lists import choose_steps, json_lists, quote_key
from smartspider.suggest.suggestion import Draft
from smartspider.suggest.text_kinds import classify
from smartspider.suggest.vocabulary import THING_TYPES

MAX_DETAILS = 30
_MOSTLY_LIST = 0.8
_MOST_DETAILS = 15
"""The most labelled values of a record; more are a list."""
_MOST_FIELDS = 20
_RECORD_TYPES = ("product", "article", "book", "profile", "video")
_OPENGRAPH = ("title", "description", "image", "site_name")


def page_records(document: Document, tree: Tree, in_lists: float = 0.0) -> list[Draft]:
    """Return a draft for the page as one item, if it has more than a title.

    `in_lists` is the weight of the page's text in its largest list: a page of products is not a product.
    """
    fields: dict[str, Any] = {}
    reasons: list[str] = []
    weight = 0.35
    product = read_source("product", document)
    thing = _thing(read_source("json_ld", document))
    graph = read_source("opengraph", document)
    if product is not None:
        weight, why = 1.4, "it describes one product"
        reasons.append(why)
        fields |= {
            key: {"type": "product", "expr": key} for key, value in product.items() if value is not None
        }
    elif thing is not None:
        weight = 1.2
        reasons.append(f"its JSON-LD describes one {thing['@type']}")
        fields |= _thing_fields(thing)
    if str(graph.get("type", "")).startswith(_RECORD_TYPES):
        weight = max(weight, 1.0)
        reasons.append(f"OpenGraph calls it a {graph['type']}")
    if str(graph.get("type", "")) == "article" or (thing is not None and "Art" in thing["@type"]):
        fields["text"] = {"type": "markdown"}
    _add_visible(tree, graph, fields)
    pairs = _details(tree)
    if pairs:
        reasons.append(f"{len(pairs)} labelled values")
    for label, selector in pairs:
        name = to_field_name(label)
        if name and name not in fields and len(fields) < _MOST_FIELDS + MAX_DETAILS:
            fields[name] = selector
    if len(fields) < 3 or (weight < 1 and len(pairs) < 2 and "price" not in fields):
        return []
    score = weight * min(len(fields), _MOST_FIELDS if weight >= 1 else _MOST_DETAILS)
    if in_lists > _MOSTLY_LIST:
        score *= 0.5
    return [Draft("page", None, fields, score, tuple(reasons) or ("the page as one item",))]


def _thing(things: list[dict[str, Any]]) -> dict[str, Any] | None:
    found = [one for one in things if isinstance(one.get("@type"), str) and one["@type"] in THING_TYPES]
    return found[0] if len({one["@type"] for one in found}) == 1 and len(found) == 1 else None


def _thing_fields(thing: dict[str, Any]) -> dict[str, Any]:
    chosen = f"[?{quote_key('@type')}=='{thing['@type']}'] | [0]"
    found = next((one for one in json_lists([thing, thing]) if one.expr == "@"), None)
    fields: dict[str, Any] = {}
    for name, expr in list(found.fields.items() if found else ())[:_MOST_FIELDS]:
        rule: dict[str, Any] = {"type": "json_ld", "expr": f"{chosen}.{expr}"}
        value = thing.get(expr)
        steps = choose_steps([value]) if isinstance(value, str) else []
        fields[name] = rule | ({"steps": steps} if steps else {})
    return fields


def _add_visible(tree: Tree, graph: dict[str, Any], fields: dict[str, Any]) -> None:
    """Add the heading, the price and OpenGraph data where fields are missing."""
    headings = [element for element in tree.elements if element.tag == "h1"]
    if len(headings) == 1 and not {"name", "headline", "title"} & fields.keys():
        fields["title"] = "h1"
    for key in _OPENGRAPH:
        if graph.get(key) and key not in fields and not (key == "title" and "name" in fields):
            fields[key] = {"type": "opengraph", "expr": f"{key}[0]" if isinstance(graph[key], list) else key}
    if "price" not in fields:
        price = _price(tree)
        if price is not None:
            fields["price"] = {"type": "css", "expr": price, "steps": ["number"]}


def _price(tree: Tree) -> str | None:
    """Return the selector of the first element that is named and looks like a price."""
    for element in tree.elements:
        is_called_price = "price" in element.attrs.get("class", "") or "price" in element.attrs.get(
            "itemprop", ""
        )
        if is_called_price and element.own and classify(tree.text(element, 40)) == "price":
            for name in name_selectors(element):
                first = tree.root.css_first(name)
                if "price" in name and first is not None and first.mem_id == element.node.mem_id:
                    return name
    return None


def _details(tree: Tree) -> list[tuple[str, str]]:
    """Return labels and the selectors of their values: `th` beside `td`, `dt` before `dd`."""
    selectors = ItemSelectors(tree)
    found: dict[str, str] = {}
    doubled: set[str] = set()
    for label, value in _pairs(tree):
        text = tree.text(label, 60).strip(" :\uff1a")
        if not text or len(text) > 40 or not tree.text(value, 20):
            continue
        if text in found:
            doubled.add(text)
        holder = selectors.container(label)
        place = f"{holder} " if holder is not None and holder.startswith((".", "#")) else ""
        css = f"{place}{label.tag}:lexbor-contains({quote_css(text)}) + {value.tag}"
        first = tree.root.css_first(css)
        if first is not None and first.mem_id == value.node.mem_id:
            found.setdefault(text, css)
    # A repeated label belongs to a list, not to the page.
    return [(text, css) for text, css in found.items() if text not in doubled][:MAX_DETAILS]


def _pairs(tree: Tree) -> Iterator[tuple[Element, Element]]:
    for element in tree.elements:
        if element.tag not in {"tr", "dl", "div"}:
            continue
        children = element.children
        if element.tag == "dl" and sum(child.tag == "dt" for child in children) > _MOST_DETAILS:
            continue
        if element.tag == "tr":
            if [child.tag for child in children] == ["th", "td"]:
                yield children[0], children[1]
            continue
        yield from (
            (one, other) for one, other in pairwise(children)
            if one.tag == "dt" and other.tag == "dd"
        )  # fmt: skip
