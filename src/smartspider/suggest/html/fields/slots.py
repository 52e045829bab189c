"""Find slots: positions in the items of a list that hold values.

All items are walked together, level by level. A child is distinguished from its siblings by as little as
needed: its tag if unique, else its label, its class, or its number among similar ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from smartspider.suggest.html.class_names import is_stable, is_state, split_words
from smartspider.suggest.html.selector_names import TELLING_ATTRS
from smartspider.suggest.html.tree import Element, Tree

Key = tuple[str, ...]

SAMPLE = 30
"""The most items of a list that are compared."""
MAX_LEVELS = 24
MAX_CHILDREN = 300
MAX_SLOTS = 400
MAX_INSIDE = 400
_MOST, _MOST_MARKED = 0.9, 0.8
"""The share of items with an element of a class name, and of an attribute that names it."""
SKIPPED = frozenset(("button", "select", "option", "datalist", "textarea", "input"))
LABEL_TAGS = frozenset(("dt", "th", "label"))
LABEL_WORDS = frozenset(
    ("label", "key", "term", "caption", "name", "attr", "property", "lbl", "k", "bold", "strong", "heading")
)
_LABEL_HOLDERS = frozenset(("span", "b", "strong", "div", "em", "label", "i", "small", "p"))
_LABEL_LENGTH = 40
_MANY = 4
_USUAL = 0.8
_FEW_ROWS = 10


class Slot:
    """One position, with its element in each item that has one."""

    __slots__ = ("_example", "elements", "is_label", "key", "label", "label_element", "parent", "repeats")

    def __init__(self, key: Key, parent: Slot | None = None) -> None:
        self.key = key
        self.parent = parent
        self.elements: dict[int, Element] = {}
        self.repeats: dict[int, list[Element]] = {}
        """All elements per item, if the slot is a list inside the item."""
        self.label = ""
        self.label_element: Element | None = None
        """The label of its first element."""
        self.is_label = False
        self._example: Element | None = None

    @property
    def is_list(self) -> bool:
        """True if most items have several of its elements."""
        return 2 * sum(map(len, self.repeats.values())) > 3 * len(self.repeats)

    @property
    def is_named(self) -> bool:
        """True if its elements have a name in common, and not a place."""
        return self.key[1:2] == ("named",)

    @property
    def example(self) -> Element:
        """One of its elements, with the most common tag; asked for once all elements are known."""
        if self._example is None:
            elements = self.elements.values()
            tag = Counter(element.tag for element in elements).most_common(1)[0][0]
            self._example = next(element for element in elements if element.tag == tag)
        return self._example


def find_slots(tree: Tree, items: list[Element], members: set[int]) -> list[Slot]:
    """Return the slots inside the items, with the items themselves as the first.

    `members` are the orders of all items of the list: nested items are not part of the outer ones.
    """
    top = Slot(())
    top.elements = dict(enumerate(items))
    slots = [top]
    level = [top]
    for _ in range(MAX_LEVELS):
        below: list[Slot] = []
        for slot in level:
            below.extend(_below(tree, slot, members, len(items)))
        if not below or len(slots) > MAX_SLOTS:
            break
        slots.extend(below)
        level = below
    is_plain = bool(items) and items[0].tag[:1].isalpha()  # of siblings, the distance is the name
    return slots + (_named_slots(tree, top, slots, members) if is_plain else [])


def _named_slots(tree: Tree, top: Slot, slots: list[Slot], members: set[int]) -> list[Slot]:
    """Return slots for elements that are in most items by their name, but in different places."""
    count = len(top.elements)
    found: dict[Key, dict[int, list[Element]]] = defaultdict(lambda: defaultdict(list))
    for index, item in top.elements.items():
        for element in tree.inside(item)[:MAX_INSIDE]:
            if element.order in members:
                break
            for name in _names_of(element):
                found[element.tag, name][index].append(element)
    placed = {
        element.order
        for slot in slots
        if len(slot.elements) >= _MOST * count
        for element in slot.elements.values()
    }
    named = []
    for (tag, name), elements in found.items():
        firsts = {index: some[0] for index, some in elements.items()}
        is_single = sum(len(some) for some in elements.values()) <= 1.1 * len(elements)
        is_new = sum(one.order in placed for one in firsts.values()) < 0.5 * len(firsts)
        needed = (_MOST_MARKED if "=" in name else _MOST) * count
        if count > 2 and len(firsts) >= needed and is_single and is_new:
            slot = Slot((tag, "named", name, "1"), top)
            slot.elements = firsts
            slot.repeats = {index: [one] for index, one in firsts.items()}
            named.append(slot)
    return named


def _names_of(element: Element) -> Iterator[str]:
    """Yield the stable class names of an element, and its attributes that name what it holds."""
    yield from filter(is_stable, element.classes)
    for name in TELLING_ATTRS:
        if element.attrs.get(name):
            yield f"{name}={element.attrs[name]}"


def _below(tree: Tree, slot: Slot, members: set[int], count: int) -> Iterator[Slot]:
    families: dict[int, list[Element]] = {}
    for index, element in slot.elements.items():
        if element.tag in SKIPPED or element.tag == "time":
            continue
        children = [child for child in element.children[:MAX_CHILDREN] if child.order not in members]
        if children:
            families[index] = children
    if not families:
        return
    labels = _labels(tree, families, count)
    naming = {label.order for order, (_, label) in labels.items() if label.order != order}
    crowded = {
        tag
        for children in families.values()
        for tag, number in Counter(child.tag for child in children).items()
        if number > 1
    }
    popular = Counter(
        name for children in families.values() for name in {c for child in children for c in child.classes}
    )
    found: dict[Key, Slot] = {}
    steps = {
        index: [
            _step(child, place, labels.get(child.order), crowded, popular)
            for place, child in enumerate(children)
        ]
        for index, children in families.items()
    }
    lists = _inner_lists(families, steps)
    for index, children in families.items():
        numbers: dict[Key, int] = defaultdict(int)
        for child, step in zip(children, steps[index], strict=True):
            numbers[step] += 1
            key = (*slot.key, *step, "" if step in lists else str(numbers[step]))
            there = found.setdefault(key, Slot(key, slot))
            if index not in there.elements:
                there.elements[index] = child
            there.repeats.setdefault(index, []).append(child)
            label = labels.get(child.order)
            if label is not None and there.label_element is None:
                there.label, there.label_element = label
            there.is_label |= child.order in naming
    yield from found.values()


def _inner_lists(families: dict[int, list[Element]], steps: dict[int, list[Key]]) -> set[Key]:
    """Return the steps that are lists inside the items: a different number in many items, or many alike.

    Cells and labelled values are never lists.
    """
    counts: dict[Key, list[int]] = defaultdict(list)
    looks: dict[Key, Counter[Key]] = defaultdict(Counter)
    members: dict[Key, list[Element]] = defaultdict(list)
    for index, children in families.items():
        for step, number in Counter(steps[index]).items():
            counts[step].append(number)
        for child, step in zip(children, steps[index], strict=True):
            looks[step][_look(child)] += 1
            members[step].append(child)
    found = set()
    for step, numbers in counts.items():
        is_alike = looks[step].most_common(1)[0][1] * 2 > looks[step].total()
        usual, times = Counter(numbers).most_common(1)[0]
        is_fixed = times >= _USUAL * len(numbers) and usual > 1 and (usual == 2 or not is_alike)
        differs = len(set(numbers)) > 1 and not is_fixed
        is_list = differs or (usual >= _MANY and is_alike)
        is_layout = _is_layout_table(members[step], numbers) or (not is_alike and _are_blocks(members[step]))
        if is_list and step[1] not in {"nth", "label"} and not is_layout:
            found.add(step)
    return found


def _is_layout_table(rows: list[Element], numbers: list[int]) -> bool:
    """Return True for the rows of a table that divides an item: a few of one cell, as many in each item."""
    usual, times = Counter(numbers).most_common(1)[0]
    single = sum(len(row.children) == 1 for row in rows)
    is_fixed = usual <= _FEW_ROWS and times >= _USUAL * len(numbers)
    return rows[0].tag == "tr" and is_fixed and single >= _USUAL * len(rows)


def _are_blocks(elements: list[Element]) -> bool:
    """Return True for siblings that divide an item into blocks: most have several texts."""
    divided = sum(_text_holders(element) > 1 for element in elements)
    return elements[0].tag == "div" and 2 * divided > len(elements)


def _text_holders(element: Element, levels: int = 6) -> int:
    """Return the number of elements with a text of their own, down to some levels."""
    below = sum(_text_holders(child, levels - 1) for child in element.children) if levels else 0
    return below + bool(element.own)


def _look(element: Element) -> Key:
    """Describe an element by two levels of tags."""
    return tuple(
        f"{child.tag}({','.join(inner.tag for inner in child.children)})" for child in element.children
    )


def _step(
    child: Element,
    position: int,
    label: tuple[str, Element] | None,
    crowded: set[str],
    popular: Counter[str],
) -> Key:
    if child.parent is not None and child.parent.tag == "tr" and child.tag in {"td", "th"}:
        return ("cell", "nth", str(position + 1))
    if label is not None:
        return (child.tag, "label", label[0])
    if child.tag not in crowded:
        return (child.tag, "", "")
    itemprop = child.attrs.get("itemprop")
    if itemprop:
        return (child.tag, "itemprop", itemprop)
    names = [name for name in child.classes if not is_state(name)]
    if names:
        return (child.tag, "class", max(names, key=lambda name: popular[name]))
    return (child.tag, "", "")


def _labels(tree: Tree, families: dict[int, list[Element]], count: int) -> dict[int, tuple[str, Element]]:
    """Return labels by element: labels that many items have, and more than one per item."""
    found: dict[int, tuple[str, Element]] = {}
    seen: dict[str, set[int]] = defaultdict(set)
    for index, children in families.items():
        before: Element | None = None
        for child in children:
            label = before if before is not None and _is_labelish(tree, before) else _first_label(tree, child)
            text = ""
            if label is None:
                label, text = child, _label_in(child)
            elif not (child.tag in LABEL_TAGS and before is label):
                text = tree.text(label, 60).strip(" :\uff1a")
            if text:
                found[child.order] = (text, label)
                seen[text].add(index)
            before = child
    needed = max(2, count // 8)
    holders = len(set().union(*seen.values()))
    # Texts that repeat by chance are many and each in few items; labels are few and in most items.
    if sum(map(len, seen.values())) < 0.4 * len(seen) * holders:
        return {}
    return {order: label for order, label in found.items() if len(seen[label[0]]) >= needed}


def _label_in(child: Element) -> str:
    """Return the label at the start of an element's text: `Price: 12`."""
    if child.classes or not child.own:
        return ""
    label, colon, rest = child.own[0].replace("\uff1a", ":").partition(":")
    has_value = rest.strip() or len(child.own) > 1 or child.children
    is_label = (
        colon
        and has_value
        and not rest.startswith("//")
        and len(label) <= _LABEL_LENGTH
        and any(character.isalpha() for character in label)
    )
    return label.strip() if is_label else ""


def _first_label(tree: Tree, child: Element) -> Element | None:
    """Return the label that is the first child of an element with a label and its value."""
    if len(child.children) < 2 or child.own:
        if len(child.children) == 1 and child.own and _is_labelish(tree, child.children[0]):
            return child.children[0]
        return None
    first = child.children[0]
    return first if _is_labelish(tree, first) and len(child.children) <= 3 else None


def _is_labelish(tree: Tree, element: Element) -> bool:
    if element.end - element.order > 4:
        return False
    text = tree.text(element, _LABEL_LENGTH + 20)
    if not text or len(text) > _LABEL_LENGTH or not any(character.isalpha() for character in text):
        return False
    if element.tag in LABEL_TAGS or text[-1] in ":\uff1a":
        return True
    return element.tag in _LABEL_HOLDERS and any(
        LABEL_WORDS.intersection(split_words(name)) for name in element.classes
    )
