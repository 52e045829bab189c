"""The share of what items show that is in their fields."""

from __future__ import annotations

import math
from collections import Counter

from smartspider.suggest.html.fields.candidate_field import CandidateField
from smartspider.suggest.html.fields.shapes import has_word
from smartspider.suggest.html.tree import Element, Tree

_CONSTANT = 0.9
_WITHOUT_LINKS = 0.9


def completeness(tree: Tree, items: list[Element], candidates: list[CandidateField]) -> float:
    """Return the share of the texts of sampled items that are in a field, by length; never rounded up.

    Texts that nearly all items have are labels and buttons, and do not count. Links and images of most items
    that are in no field count as well.
    """
    shown = [_texts(tree, item) for item in items]
    spread = Counter(text for texts in shown for text in set(texts))
    total = kept = 0
    for index, texts in enumerate(shown):
        taken = _plain("\n".join(_taken(tree, one, index) for one in candidates))
        for text in texts:
            if len(items) > 2 and spread[text] > _CONSTANT * len(items):
                continue
            total += len(text)
            kept += len(text) if text in taken else 0
    share = math.floor(100 * kept / total) / 100 if total else 1.0
    return round(share * _linked_share(tree, items, candidates), 2)


def _linked_share(tree: Tree, items: list[Element], candidates: list[CandidateField]) -> float:
    """Return less than 1 if most items have a link or an image, and no field has one."""
    share = 1.0
    for tag, name, is_field in (
        ("a", "href", any(one.is_link for one in candidates)),
        ("img", "src", any(one.is_image for one in candidates)),
    ):
        found = {_first_attribute(tree, item, tag, name) for item in items} - {""}
        if not is_field and len(found) * 2 > len(items):
            share *= _WITHOUT_LINKS
    return share


def _first_attribute(tree: Tree, item: Element, tag: str, name: str) -> str:
    elements = (one for one in (item, *tree.inside(item)) if one.tag == tag)
    return next((one.attrs[name] for one in elements if one.attrs.get(name, "#") != "#"), "")


def _taken(tree: Tree, candidate: CandidateField, index: int) -> str:
    """Return the text that a field takes from an item; that of a date or rating is in an attribute."""
    if candidate.is_link or candidate.is_image or candidate.values[index] is None:
        return ""
    element = candidate.slot.elements.get(index)
    return (
        tree.text(element) if not candidate.is_text and element is not None else candidate.values[index] or ""
    )


def _texts(tree: Tree, item: Element) -> list[str]:
    parts = (_plain(text) for text in tree.texts[item.texts_from : item.texts_to])
    return [part for part in parts if has_word(part)]


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()
