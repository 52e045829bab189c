"""Turn slots into fields."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from smartspider.suggest.html.class_names import split_words
from smartspider.suggest.html.fields.attributes import (
    LINK_ATTRS,
    PLACEHOLDERS,
    attribute_names,
    attribute_value,
    is_image_attribute,
)
from smartspider.suggest.html.fields.candidate_field import CandidateField, Values
from smartspider.suggest.html.fields.distinct_fields import distinct_fields
from smartspider.suggest.html.fields.shapes import FORMAT, Shape, has_word, is_emphasis, shape_of
from smartspider.suggest.html.fields.slots import SAMPLE, SKIPPED, Slot
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.text_kinds import classify, classify_all, common_ending, common_label
from smartspider.suggest.vocabulary import STATUS_WORDS

_TEXT_ITEMS = frozenset(("li", "a", "p", "dt", "dd", "option", "td", "h2", "h3", "h4", "h5", "pre", "code"))
_PROSE = frozenset(("p", "pre", "blockquote"))
_STEADY = 0.9
_LONGEST_STATUS = 40
_CONTROL_WORDS = frozenset("btn button caption icon label link more".split())
_VALUE_KINDS = frozenset(("price", "date", "rating", "email", "phone"))


def find_fields(tree: Tree, slots: list[Slot], count: int, *, is_table: bool = False) -> list[CandidateField]:
    """Return the fields of a list with `count` sampled items, in document order."""
    reader = _SlotReader(tree, slots, count, is_table=is_table)
    drafts = [field for slot in slots for field in reader.fields_of(slot)]
    order = {id(slot): number for number, slot in enumerate(slots)}
    drafts.sort(key=lambda field: (field.slot.example.order - _item_of(field).order, order[id(field.slot)]))
    useful = [field for field in drafts if _is_useful(field, is_table=is_table)]
    if not useful and count >= SAMPLE:
        useful = [field for field in drafts if field.is_text and field.coverage == 1][:1]  # equal items
    for field in useful:
        _classify(field)
    return distinct_fields(useful, is_table=is_table)


def _classify(field: CandidateField) -> None:
    """Cut off constant labels and endings, and set the kind of the values."""
    if field.take in {"text", "own", "owns"}:
        words = (word for name in field.slot.example.classes for word in split_words(name))
        field.prefix = common_label(field.found, words)
        field.ending = common_ending(field.found) if field.take == "text" else ""
    start, end = len(field.prefix), len(field.ending)
    values = [value[start : len(value) - end] for value in field.found]
    field.kind = "url" if field.is_link or field.is_image else classify_all(values)


class _SlotReader:
    """Reads the fields of slots, parents first: a slot that is one text closes the slots below it."""

    def __init__(self, tree: Tree, slots: list[Slot], count: int, *, is_table: bool) -> None:
        self._tree = tree
        self._count = count
        self._is_table = is_table
        self._kids: dict[int, list[Slot]] = defaultdict(list)
        self._closed: set[int] = set()
        """Slots inside a text: only links and images of them are fields."""
        self._dropped: set[int] = set()
        """Slots inside labels and controls."""
        self._sealed: set[int] = set()
        """Slots inside a list or long text: nothing of them is a field."""
        for slot in slots:
            if slot.parent is not None:
                self._kids[id(slot.parent)].append(slot)

    def fields_of(self, slot: Slot) -> Iterator[CandidateField]:
        """Yield the fields of one slot; slots come parents first."""
        kids = self._kids[id(slot)]
        is_rare = slot.parent is not None and len(slot.elements) < 2 and self._count > 2
        if slot.is_label or slot.example.tag in SKIPPED or is_rare:
            self._drop(kids)
            return
        if id(slot) in self._dropped:
            self._drop(kids)
            return
        if id(slot) in self._sealed:
            self._sealed.update(map(id, kids))
            yield from self._firsts(slot)
            return
        is_closed = id(slot) in self._closed
        if is_closed:
            self._closed.update(map(id, kids))
        yield from self._attributes(slot, is_closed=is_closed)
        if not is_closed:
            yield from self._texts(slot, kids)

    def _firsts(self, slot: Slot) -> Iterator[CandidateField]:
        """Yield the first link and image of a list or long text."""
        for field in self._attributes(slot, is_closed=True):
            field.is_inner = True
            if field.is_image or field.is_link:
                yield field

    def _texts(self, slot: Slot, kids: list[Slot]) -> Iterator[CandidateField]:
        is_cell = self._is_table and slot.key[-4:-2] == ("cell", "nth")
        if is_cell:
            self._close(kids, {id(kid) for kid in self._separate(slot, kids)})
            yield self._whole(slot)
            return
        if slot.parent is not None and slot.is_list:
            self._close_all(kids)
            yield self._list(slot)
            return
        shape: Shape = shape_of(self._tree, slot, kids)
        if shape == "container" or (slot.parent is None and slot.example.tag not in _TEXT_ITEMS):
            return
        if shape == "flow":
            self._close_all(kids)
        if shape == "text":
            self._close(kids, {id(kid) for kid in self._values_inside(slot, kids)})
        yield self._own(slot, kids) if shape == "parts" else self._whole(slot)

    def _values_inside(self, slot: Slot, kids: list[Slot]) -> list[Slot]:
        """Return the slots in a text that are values, too: in nearly all items, and no words set off."""
        steady = [kid for kid in kids if len(kid.elements) >= _STEADY * len(slot.elements)]
        return [kid for kid in steady if not is_emphasis(self._tree, slot, kid)]

    def _separate(self, slot: Slot, kids: list[Slot]) -> list[Slot]:
        """Return the slots in a cell that are values of their own: two or more in most rows."""
        steady = _steady_parts(slot, kids)
        while len(steady) == 1 and not any(element.own for element in slot.elements.values()):
            slot, kids = steady[0], self._kids[id(steady[0])]
            steady = _steady_parts(slot, kids)
        return self._kids_chain(steady) if len(steady) > 1 else []

    def _kids_chain(self, steady: list[Slot]) -> list[Slot]:
        chain = list(steady)
        at = steady[0].parent
        while at is not None and at.parent is not None:
            chain.append(at)
            at = at.parent
        return chain

    def _close(self, kids: list[Slot], except_for: Collection[int] = ()) -> None:
        self._closed.update(id(kid) for kid in kids if id(kid) not in except_for)

    def _close_all(self, kids: list[Slot]) -> None:
        self._sealed.update(map(id, kids))

    def _drop(self, kids: list[Slot]) -> None:
        self._dropped.update(map(id, kids))

    def _whole(self, slot: Slot) -> CandidateField:
        texts = {index: self._tree.text(element) for index, element in slot.elements.items()}
        return CandidateField(slot, "text", self._in_order(texts))

    def _list(self, slot: Slot) -> CandidateField:
        is_prose = slot.example.tag in _PROSE
        between = "\n" if is_prose else " | "
        joined = {
            index: between.join(self._tree.text(one, 200) for one in slot.repeats[index])
            for index in slot.elements
        }
        return CandidateField(slot, "lines" if is_prose else "list", self._in_order(joined))

    def _own(self, slot: Slot, kids: list[Slot]) -> CandidateField:
        elements = slot.elements
        firsts = {index: element.own[0] if element.own else "" for index, element in elements.items()}
        label = _constant_text(self._tree, kids)
        if len(set(firsts.values())) > 1 and not any(element.starts_blank for element in elements.values()):
            return CandidateField(slot, "own", self._in_order(firsts), label)
        owns = {index: " ".join(element.own) for index, element in elements.items()}
        return CandidateField(slot, "owns", self._in_order(owns), label)

    def _attributes(self, slot: Slot, *, is_closed: bool) -> Iterator[CandidateField]:
        is_cell = self._is_table and slot.key[-4:-2] == ("cell", "nth")
        for name in () if is_cell else attribute_names(slot):
            if is_closed and name not in {*LINK_ATTRS, "datetime"} and not is_image_attribute(slot, name):
                continue
            values = {index: attribute_value(slot, element, name) for index, element in slot.elements.items()}
            is_rare = is_closed and not self._is_table and len(slot.elements) * 2 < self._count
            if any(values.values()) and not is_rare:
                yield CandidateField(slot, name, self._in_order(values))

    def _in_order(self, values: dict[int, str]) -> Values:
        return tuple(values.get(index) or None for index in range(self._count))


def _steady_parts(slot: Slot, kids: list[Slot]) -> list[Slot]:
    """Return the slots below a cell that most cells have, without formatting."""
    return [
        kid
        for kid in kids
        if len(kid.elements) >= 0.6 * len(slot.elements)
        and (kid.example.tag not in FORMAT or kid.example.classes)
    ]


def _constant_text(tree: Tree, kids: list[Slot]) -> str:
    """Return the text of the slots below if it is the same in all items: a label beside the value."""
    texts = {
        tree.text(element, 80)
        for kid in kids
        for element in kid.elements.values()
        if kid.example.tag not in {"a", "button"}
    }
    return texts.pop() if len(texts) == 1 else ""


def _item_of(field: CandidateField) -> Element:
    slot = field.slot
    index = next(iter(slot.elements))
    while slot.parent is not None:
        slot = slot.parent
    return slot.elements[index]


def _is_useful(field: CandidateField, *, is_table: bool) -> bool:
    found = field.found
    if is_table and field.is_cell and found:
        return True
    if not found or (len(found) < 2 and len(field.values) > 2) or field.coverage < 0.08:
        return False
    if field.is_link and _is_no_link(found):
        return False
    if field.is_image and all(value.startswith(PLACEHOLDERS) for value in found):
        return False
    if not any(map(has_word, found)):
        return False
    return len(set(found)) > 1 or len(field.values) == 1 or _is_shared_value(field, is_table=is_table)


def _is_shared_value(field: CandidateField, *, is_table: bool) -> bool:
    """Return True for what is the same in all items of this page but may differ on others."""
    if field.slot.label and field.found[0].strip(" :\uff1a") == field.slot.label:
        return False
    is_cell = is_table and field.slot.parent is not None and field.slot.parent.parent is None
    return _is_labelled(field.slot) or (is_cell and field.take == "text") or _is_status(field)


def _is_labelled(slot: Slot) -> bool:
    """Return True if a label is beside the slot, or is the text around it."""
    around = slot.parent
    return bool(slot.label) or (
        around is not None and bool(around.label) and around.label_element in around.elements.values()
    )


def _is_status(field: CandidateField) -> bool:
    """Return True for a value that may be the same in all items of this page only: a price, In stock."""
    if field.take not in {"text", "own", "owns"} or field.coverage < 1:
        return False
    text = field.found[0]
    if len(text) > _LONGEST_STATUS or text.endswith((":", "\uff1a")):
        return False
    words = {word for name in field.slot.example.classes for word in split_words(name)}
    return classify(text) in _VALUE_KINDS or bool(words & STATUS_WORDS and not words & _CONTROL_WORDS)


def _is_no_link(found: Iterable[str]) -> bool:
    return all(value.startswith(("javascript:", "mailto:", "tel:")) or value in {"#", ""} for value in found)
