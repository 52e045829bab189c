"""From slots to columns: the values worth having, each once."""

from __future__ import annotations

from collections.abc import Iterable

from smartspider.suggest.classes import words_of
from smartspider.suggest.slots import SKIPPED, Slot
from smartspider.suggest.tree import Element, Tree
from smartspider.suggest.values import Kind, common_start, kind_of_all

Values = tuple[str | None, ...]

_FORMAT = frozenset("b strong i em u mark sup sub small br wbr span font code abbr ins bdi".split())
"""Elements inside a text that belong to it."""
_IMAGE_ATTRS = ("data-src", "data-original", "data-lazy-src", "data-lazy-img", "data-lazy", "data-url", "src")
_DATA_WORDS = ("id", "sku", "code", "price", "value", "rating", "score", "date", "time", "count", "name")
_PLACEHOLDER = ("data:", "about:")


class Column:
    """One value of each item: where it stands, how it is taken there, and what the sampled items have."""

    __slots__ = ("kind", "label", "prefix", "slot", "take", "values")

    def __init__(self, slot: Slot, take: str, values: Values, label: str = "") -> None:
        self.slot = slot
        self.take = take
        """`text` (all of it), `own` (the first text node), `list` (a text for each) or an attribute."""
        self.values = values
        self.label = label
        """A word beside the value that says what it is."""
        self.kind: Kind = "text"
        self.prefix = ""

    @property
    def found(self) -> list[str]:
        """The values that are there."""
        return [value for value in self.values if value]

    @property
    def coverage(self) -> float:
        """Share of the items that have a value."""
        return len(self.found) / len(self.values)

    @property
    def is_link(self) -> bool:
        """The address a link leads to."""
        return self.take == "href"

    @property
    def is_image(self) -> bool:
        """The address of a picture."""
        return self.slot.example.tag == "img" and self.take in _IMAGE_ATTRS


def columns_of(tree: Tree, slots: list[Slot], count: int, *, keeps_constant: bool = False) -> list[Column]:
    """The columns of a list with `count` sampled items, in the order they stand in an item."""
    drafts: list[Column] = []
    for slot in slots:
        drafts.extend(_of_slot(tree, slot, count))
    order = {id(slot): number for number, slot in enumerate(slots)}
    drafts.sort(
        key=lambda column: (column.slot.example.order - _item_of(column).order, order[id(column.slot)])
    )
    useful = [column for column in drafts if _is_useful(column, keeps_constant=keeps_constant)]
    for column in useful:
        if column.take in {"text", "own"}:
            words = (word for name in column.slot.example.classes for word in words_of(name))
            column.prefix = common_start(column.found, words)
        cut = len(column.prefix)
        column.kind = (
            "url" if column.is_link or column.is_image else kind_of_all(v[cut:] for v in column.found)
        )
    return _distinct(useful)


def _item_of(column: Column) -> Element:
    slot = column.slot
    index = next(iter(slot.elements))
    while slot.parent is not None:
        slot = slot.parent
    return slot.elements[index]


def _of_slot(tree: Tree, slot: Slot, count: int) -> Iterable[Column]:
    example = slot.example
    if (
        slot.is_label
        or example.tag in SKIPPED
        or (slot.parent is not None and len(slot.elements) < 2 and count > 2)
    ):
        return
    yield from _attributes(slot, count)
    text = _text_column(tree, slot, count)
    if text is not None:
        yield text


def _text_column(tree: Tree, slot: Slot, count: int) -> Column | None:
    elements = slot.elements
    if slot.parent is None and slot.example.tag not in {"li", "a", "p", "dt", "option", "td"}:
        return None
    with_own = sum(1 for element in elements.values() if any(map(_has_word, element.own)))
    if with_own * 2 < len(elements) and not _is_leaf_like(elements):
        return None
    lists = [repeats for repeats in slot.repeats.values() if len(repeats) > 1]
    if lists and slot.parent is not None:
        joined = {index: " | ".join(tree.text(one, 200) for one in slot.repeats[index]) for index in elements}
        return Column(slot, "list", _in_order(joined, count))
    own = {index: element.own[0] if element.own else "" for index, element in elements.items()}
    deep = {index: tree.text(element) for index, element in elements.items()}
    beside = _constant_child(tree, slot)
    if beside and len(set(own.values())) > 1:
        return Column(slot, "own", _in_order(own, count), label=beside)
    has_elements = any(not _is_format(element) for element in elements.values())
    if has_elements and len(set(own.values())) > 1 and with_own * 2 >= len(elements):
        return Column(slot, "own", _in_order(own, count))
    return None if has_elements else Column(slot, "text", _in_order(deep, count))


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text) or len(text) > 1


def _is_leaf_like(elements: dict[int, Element]) -> bool:
    return all(not element.children for element in elements.values())


def _is_format(element: Element) -> bool:
    """All that stands in an element is its text, however it is emphasised."""
    return all(child.tag in _FORMAT and not child.children for child in element.children) and (
        bool(element.own) or not element.children
    )


def _constant_child(tree: Tree, slot: Slot) -> str | None:
    """The text of the elements inside, when it is the same in all items: a label beside the value."""
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


def _attributes(slot: Slot, count: int) -> Iterable[Column]:
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
            yield Column(slot, name, _in_order(values, count))


def _image_attr(slot: Slot) -> str:
    """The attribute that holds the real picture, where the page loads it late."""
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


def _is_useful(column: Column, *, keeps_constant: bool) -> bool:
    found = column.found
    if not found or (len(found) < 2 and len(column.values) > 2) or column.coverage < 0.08:
        return False
    if column.is_link and _is_no_link(found):
        return False
    if column.is_image and all(value.startswith(_PLACEHOLDER) for value in found):
        return False
    if not any(_has_word(value) for value in found):
        return False
    if len(set(found)) > 1:
        return True
    is_cell = keeps_constant and column.slot.parent is not None and column.slot.parent.parent is None
    return len(column.values) == 1 or bool(column.slot.label) or (is_cell and column.take == "text")


def _is_no_link(found: list[str]) -> bool:
    return all(value.startswith(("javascript:", "mailto:", "tel:")) or value in {"#", ""} for value in found)


def _distinct(columns: list[Column]) -> list[Column]:
    """Without columns that say again what another says; the better placed one stays."""
    kept: list[Column] = []
    columns = _without_actions([column for column in columns if not _is_spoken_date(column, columns)])
    columns = [column for column in columns if not _is_cut_short(column, columns)]
    if any(column.take in {"text", "own"} for column in columns):
        columns = [column for column in columns if column.take != "alt"]
    for column in sorted(columns, key=_rank):
        if not any(_says_again(column, other) for other in kept):
            kept.append(column)
    place = {id(column): number for number, column in enumerate(columns)}
    return sorted(kept, key=lambda column: place[id(column)])


def _rank(column: Column) -> tuple[int, int, float]:
    """What is kept first of two that say the same: texts before attributes, headings, full coverage."""
    path = column.slot.key
    is_heading = any(tag in path for tag in ("h1", "h2", "h3", "h4", "h5", "h6"))
    depth = 0 if is_heading or "itemprop" in path else 1 if column.slot.example.own else 2
    take = {"text": 0, "own": 0, "list": 1, "href": 0, "datetime": 0, "src": 0, "alt": 3, "title": 3}
    is_drawn = any("★" in value for value in column.found)
    return (4 if is_drawn else take.get(column.take, 2), depth, -column.coverage)


def _says_again(column: Column, other: Column) -> bool:
    is_same = 0
    for mine, its in zip(column.values, other.values, strict=True):
        if mine is None:
            continue
        if its is None or _plain(mine) != _plain(its):
            return False
        is_same += 1
    return is_same > 0


def _plain(value: str) -> str:
    return " ".join(value.partition("#")[0].casefold().strip("★☆ ").split()) or value


def _is_spoken_date(column: Column, columns: list[Column]) -> bool:
    """The text of a `time` that also gives its moment for machines."""
    return (
        column.slot.example.tag == "time"
        and column.take != "datetime"
        and any(
            other.slot is column.slot and other.take == "datetime" and other.coverage >= column.coverage
            for other in columns
        )
    )


def _is_cut_short(column: Column, columns: list[Column]) -> bool:
    """A text that ends in dots, with the whole of it in the element's title."""
    if column.take not in {"text", "own"} or not any(value.endswith(("...", "…")) for value in column.found):
        return False
    return any(other.slot is column.slot and other.take == "title" for other in columns)


def _without_actions(columns: list[Column]) -> list[Column]:
    """Without links that are called the same in every item (reply, report), if there are others."""
    actions = {id(column) for column in columns if column.is_link and _is_action(column)}
    others = [column for column in columns if id(column) not in actions]
    return others if any(column.is_link for column in others) else columns


def _is_action(column: Column) -> bool:
    texts = {" ".join(element.own) for element in column.slot.elements.values()}
    return len(texts) == 1 and texts != {""} and len(column.slot.elements) > 2
