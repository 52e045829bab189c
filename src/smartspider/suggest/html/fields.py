"""Turn slots into fields, without duplicates."""

from __future__ import annotations

from collections.abc import Iterable

from smartspider.suggest.html.class_names import split_words
from smartspider.suggest.html.slots import SKIPPED, Slot
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.text_kinds import TextKind, classify_all, common_label

Values = tuple[str | None, ...]

_FORMAT = frozenset("b strong i em u mark sup sub small br wbr span font code abbr ins bdi".split())
"""Inline elements that belong to the surrounding text."""
_IMAGE_ATTRS = ("data-src", "data-original", "data-lazy-src", "data-lazy-img", "data-lazy", "data-url", "src")
_DATA_WORDS = ("id", "sku", "code", "price", "value", "rating", "score", "date", "time", "count", "name")
_PLACEHOLDER = ("data:", "about:")


class CandidateField:
    """A possible field of the items: its slot, the part to take, and the values of the sampled items."""

    __slots__ = ("kind", "label", "prefix", "slot", "take", "values")

    def __init__(self, slot: Slot, take: str, values: Values, label: str = "") -> None:
        self.slot = slot
        self.take = take
        """`text` (all text), `own` (the first text node), `list` (one text per element) or an attribute."""
        self.values = values
        self.label = label
        """A word beside the value that labels it."""
        self.kind: TextKind = "text"
        self.prefix = ""

    @property
    def found(self) -> list[str]:
        """The values that exist."""
        return [value for value in self.values if value]

    @property
    def coverage(self) -> float:
        """The share of items with a value."""
        return len(self.found) / len(self.values)

    @property
    def is_link(self) -> bool:
        """True if it is the target of a link."""
        return self.take == "href"

    @property
    def is_image(self) -> bool:
        """True if it is the URL of an image."""
        return self.slot.example.tag == "img" and self.take in _IMAGE_ATTRS


def find_fields(
    tree: Tree, slots: list[Slot], count: int, *, keeps_constant: bool = False
) -> list[CandidateField]:
    """Return the fields of a list with `count` sampled items, in document order."""
    drafts: list[CandidateField] = []
    for slot in slots:
        drafts.extend(_of_slot(tree, slot, count))
    order = {id(slot): number for number, slot in enumerate(slots)}
    drafts.sort(
        key=lambda field: (
            field.slot.example.order - _item_of(field).order,
            order[id(field.slot)],
        )
    )
    useful = [field for field in drafts if _is_useful(field, keeps_constant=keeps_constant)]
    for field in useful:
        if field.take in {"text", "own"}:
            words = (word for name in field.slot.example.classes for word in split_words(name))
            field.prefix = common_label(field.found, words)
        cut = len(field.prefix)
        field.kind = "url" if field.is_link or field.is_image else classify_all(v[cut:] for v in field.found)
    return _distinct(useful)


def _item_of(field: CandidateField) -> Element:
    slot = field.slot
    index = next(iter(slot.elements))
    while slot.parent is not None:
        slot = slot.parent
    return slot.elements[index]


def _of_slot(tree: Tree, slot: Slot, count: int) -> Iterable[CandidateField]:
    example = slot.example
    if (
        slot.is_label
        or example.tag in SKIPPED
        or (slot.parent is not None and len(slot.elements) < 2 and count > 2)
    ):
        return
    yield from _attributes(slot, count)
    text = _text_field(tree, slot, count)
    if text is not None:
        yield text


def _text_field(tree: Tree, slot: Slot, count: int) -> CandidateField | None:
    elements = slot.elements
    if slot.parent is None and slot.example.tag not in {"li", "a", "p", "dt", "option", "td"}:
        return None
    with_own = sum(1 for element in elements.values() if any(map(_has_word, element.own)))
    if with_own * 2 < len(elements) and not _is_leaf_like(elements):
        return None
    lists = [repeats for repeats in slot.repeats.values() if len(repeats) > 1]
    if lists and slot.parent is not None:
        joined = {index: " | ".join(tree.text(one, 200) for one in slot.repeats[index]) for index in elements}
        return CandidateField(slot, "list", _in_order(joined, count))
    own = {index: element.own[0] if element.own else "" for index, element in elements.items()}
    deep = {index: tree.text(element) for index, element in elements.items()}
    beside = _constant_child(tree, slot)
    if beside and len(set(own.values())) > 1:
        return CandidateField(slot, "own", _in_order(own, count), label=beside)
    has_elements = any(not _is_format(element) for element in elements.values())
    if has_elements and len(set(own.values())) > 1 and with_own * 2 >= len(elements):
        return CandidateField(slot, "own", _in_order(own, count))
    return None if has_elements else CandidateField(slot, "text", _in_order(deep, count))


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text) or len(text) > 1


def _is_leaf_like(elements: dict[int, Element]) -> bool:
    return all(not element.children for element in elements.values())


def _is_format(element: Element) -> bool:
    """Return True if the element contains only text and inline formatting."""
    return all(child.tag in _FORMAT and not child.children for child in element.children) and (
        bool(element.own) or not element.children
    )


def _constant_child(tree: Tree, slot: Slot) -> str | None:
    """Return the text of the child elements if it is the same in all items: a label beside the value."""
    texts: set[str] = set()
    for element in slot.elements.values():
        if not element.own or not any(map(_has_word, element.own)):
            return None
        if any(child.tag in {"a", "button"} for child in element.children):
            return ""
        inside = [tree.text(child, 80) for child in element.children]
        texts.add(" ".join(filter(None, inside)))
    if len(texts) == 1 and len(slot.elements) > 2:
        return texts.pop() or None
    return None


def _attributes(slot: Slot, count: int) -> Iterable[CandidateField]:
    tag = slot.example.tag
    names: list[str] = []
    if tag == "a":
        is_list = any(len(repeats) > 1 for repeats in slot.repeats.values())
        names.extend([] if is_list else ["href"])
    elif tag == "img":
        names.append(_image_attr(slot))
        names.append("alt")
    elif tag == "time":
        names.append("datetime")
    elif tag in {"meta", "data", "meter"}:
        names.extend(("content", "value"))
    seen = {name for element in slot.elements.values() for name in element.attrs}
    names.extend(sorted(name for name in seen if name.startswith("data-") and _is_telling(name, names)))
    names.extend(name for name in ("title", "aria-label", "content") if name in seen and name not in names)
    for name in names:
        values = {index: element.attrs.get(name, "").strip() for index, element in slot.elements.items()}
        if any(values.values()):
            yield CandidateField(slot, name, _in_order(values, count))


def _image_attr(slot: Slot) -> str:
    """Return the attribute with the actual image, for pages that load it lazily."""
    for name in _IMAGE_ATTRS:
        values = [element.attrs.get(name, "") for element in slot.elements.values()]
        real = [value for value in values if value and not value.startswith(_PLACEHOLDER)]
        if real and (len(set(real)) > 1 or name == "src"):
            return name
    return "src"


def _is_telling(name: str, taken: list[str]) -> bool:
    return name not in taken and name.replace("_", "-").rsplit("-", 1)[-1] in _DATA_WORDS


def _in_order(values: dict[int, str], count: int) -> Values:
    return tuple(values.get(index) or None for index in range(count))


def _is_useful(field: CandidateField, *, keeps_constant: bool) -> bool:
    found = field.found
    if not found or (len(found) < 2 and len(field.values) > 2) or field.coverage < 0.08:
        return False
    if field.is_link and _is_no_link(found):
        return False
    if field.is_image and all(value.startswith(_PLACEHOLDER) for value in found):
        return False
    if not any(_has_word(value) for value in found):
        return False
    if len(set(found)) > 1:
        return True
    is_cell = keeps_constant and field.slot.parent is not None and field.slot.parent.parent is None
    return len(field.values) == 1 or bool(field.slot.label) or (is_cell and field.take == "text")


def _is_no_link(found: list[str]) -> bool:
    return all(value.startswith(("javascript:", "mailto:", "tel:")) or value in {"#", ""} for value in found)


def _distinct(fields: list[CandidateField]) -> list[CandidateField]:
    """Drop fields that duplicate another; the higher-ranked one stays."""
    kept: list[CandidateField] = []
    fields = _without_actions([field for field in fields if not _is_time_text(field, fields)])
    fields = [field for field in fields if not _is_truncated(field, fields)]
    if any(field.take in {"text", "own"} for field in fields):
        fields = [field for field in fields if field.take != "alt"]
    for field in sorted(fields, key=_rank):
        if not any(_duplicates(field, other) for other in kept):
            kept.append(field)
    place = {id(field): number for number, field in enumerate(fields)}
    return sorted(kept, key=lambda field: place[id(field)])


def _rank(field: CandidateField) -> tuple[int, int, float]:
    """Return the sort key of duplicates: texts before attributes, headings first, full coverage first."""
    path = field.slot.key
    is_heading = any(tag in path for tag in ("h1", "h2", "h3", "h4", "h5", "h6"))
    depth = 0 if is_heading or "itemprop" in path else 1 if field.slot.example.own else 2
    take = {"text": 0, "own": 0, "list": 1, "href": 0, "datetime": 0, "src": 0, "alt": 3, "title": 3}
    is_drawn = any("★" in value for value in field.found)
    return (4 if is_drawn else take.get(field.take, 2), depth, -field.coverage)


def _duplicates(field: CandidateField, other: CandidateField) -> bool:
    is_same = 0
    for mine, its in zip(field.values, other.values, strict=True):
        if mine is None:
            continue
        if its is None or _plain(mine) != _plain(its):
            return False
        is_same += 1
    return is_same > 0


def _plain(value: str) -> str:
    return " ".join(value.partition("#")[0].casefold().strip("★☆ ").split()) or value


def _is_time_text(field: CandidateField, fields: list[CandidateField]) -> bool:
    """Return True for the text of a `time` element that also has a `datetime` attribute."""
    return (
        field.slot.example.tag == "time"
        and field.take != "datetime"
        and any(
            other.slot is field.slot and other.take == "datetime" and other.coverage >= field.coverage
            for other in fields
        )
    )


def _is_truncated(field: CandidateField, fields: list[CandidateField]) -> bool:
    """Return True for text that ends in an ellipsis and is complete in the element's title."""
    if field.take not in {"text", "own"} or not any(value.endswith(("...", "…")) for value in field.found):
        return False
    return any(other.slot is field.slot and other.take == "title" for other in fields)


def _without_actions(fields: list[CandidateField]) -> list[CandidateField]:
    """Drop links with the same text in every item (reply, report), if there are others."""
    actions = {id(field) for field in fields if field.is_link and _is_action(field)}
    others = [field for field in fields if id(field) not in actions]
    return others if any(field.is_link for field in others) else fields


def _is_action(field: CandidateField) -> bool:
    texts = {" ".join(element.own) for element in field.slot.elements.values()}
    return len(texts) == 1 and texts != {""} and len(field.slot.elements) > 2
