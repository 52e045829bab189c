"""Find groups of repeated elements, best first."""

from __future__ import annotations

from collections import defaultdict

from smartspider.suggest.html.class_names import is_utility, split_words
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.vocabulary import NAVIGATION_WORDS, SIDEBAR_WORDS

MAX_GROUPS = 60
SAMPLE = 30
_NEVER = frozenset(
    "html body head option br hr td th col colgroup thead tfoot source track area path label input select "
    "button legend fieldset b i em strong span font img time link meta".split()
)
_AWAY_TAGS = frozenset(("nav", "footer", "menu"))
_AWAY_ROLES = frozenset(("navigation", "contentinfo", "menu", "menubar", "dialog", "tablist", "search"))


class ElementGroup:
    """Similar elements. `position_weight` is 1 in the middle of a page and less in its margins."""

    __slots__ = ("items", "position_weight", "text_weight")

    def __init__(self, items: list[Element], text_weight: float, position_weight: float) -> None:
        self.items = items
        self.text_weight = text_weight
        self.position_weight = position_weight

    @property
    def sample(self) -> list[Element]:
        """Items from all over the list."""
        count = len(self.items)
        if count <= SAMPLE:
            return self.items
        return [self.items[number * count // SAMPLE] for number in range(SAMPLE)]


def find_groups(tree: Tree) -> list[ElementGroup]:
    """Return groups of two or more elements, by the amount of their content."""
    places = _places(tree)
    seen: set[tuple[int, ...]] = set()
    groups: list[ElementGroup] = []
    for items in _repeated(tree):
        identity = tuple(item.order for item in items)
        if len(items) < 2 or identity in seen:
            continue
        seen.add(identity)
        place = sum(places[item.order] for item in items) / len(items)
        text_weight = sum(_text_weight(item) for item in items) * place
        if text_weight > 0:
            groups.append(ElementGroup(items, text_weight, place))
    groups.sort(key=lambda group: -group.text_weight)
    return groups[:MAX_GROUPS]


def _repeated(tree: Tree) -> list[list[Element]]:
    siblings: dict[tuple[int, str], list[Element]] = defaultdict(list)
    paths: dict[int, list[Element]] = defaultdict(list)
    classes: dict[tuple[str, str], list[Element]] = defaultdict(list)
    marks: dict[tuple[str, str, str], list[Element]] = defaultdict(list)
    path_ids: dict[tuple[int, str], int] = {}
    path_of: list[int] = []
    for element in tree.elements:
        above = -1 if element.parent is None else path_of[element.parent.order]
        path = path_ids.setdefault((above, element.tag), len(path_ids))
        path_of.append(path)
        if element.tag in _NEVER:
            continue
        siblings[(-1 if element.parent is None else element.parent.order, element.tag)].append(element)
        paths[path].append(element)
        for name in element.classes[:8]:
            if not is_utility(name):
                classes[(element.tag, name)].append(element)
        for name in ("itemtype", "data-testid", "data-component", "data-type", "role"):
            if name in element.attrs:
                marks[(element.tag, name, element.attrs[name])].append(element)
    families = [_by_looks(items) for items in siblings.values() if len(items) > 1]
    whole = [items for items in classes.values() if _is_recursive(items)]
    nested = {item.order for items in whole for item in items}
    if whole:
        # Replies to comments are comments: levels of such a list are not separate lists.
        others = [*(some for family in families for some in family), *paths.values(), *classes.values()]
        return [*whole, *(items for items in others if not nested.issuperset(item.order for item in items))]
    return [
        *(items for family in families for items in family),
        *(items for items in paths.values() if len(items) > 1),
        *(items for items in classes.values() if len(items) > 1),
        *(items for items in marks.values() if len(items) > 1),
    ]


def _is_recursive(items: list[Element]) -> bool:
    """Return True if some of the elements contain others that look the same."""
    inside = 0
    outer: list[Element] = []
    for item in items:
        while outer and item.order >= outer[-1].end:
            outer.pop()
        if outer and _looks_like(item, outer[-1]):
            inside += 1
        outer.append(item)
    return inside >= 2 and inside * 5 >= len(items)


def _looks_like(one: Element, other: Element) -> bool:
    mine = {(child.tag, child.classes[:1]) for child in one.children}
    its = {(child.tag, child.classes[:1]) for child in other.children}
    return bool(mine) and len(mine & its) * 2 >= len(mine) and bool(one.classes)


def _by_looks(items: list[Element]) -> list[list[Element]]:
    """Return all siblings of a tag, and, if their classes differ, those that share one."""
    found = [items]
    by_class: dict[str, list[Element]] = defaultdict(list)
    for item in items:
        for name in item.classes[:12]:
            by_class[name].append(item)
    found.extend(some for some in by_class.values() if 1 < len(some) < len(items))
    return found


def _text_weight(item: Element) -> float:
    """Weigh the content of an item: its texts and elements, up to a limit."""
    texts = item.texts_to - item.texts_from
    return min(texts, 40) + min(item.end - item.order, 40)


def _places(tree: Tree) -> list[float]:
    places: list[float] = []
    for element in tree.elements:
        above = 1.0 if element.parent is None else places[element.parent.order]
        places.append(above * _place(element))
    return places


def _place(element: Element) -> float:
    if element.tag in _AWAY_TAGS or element.attrs.get("role", "") in _AWAY_ROLES:
        return 0.15
    if element.tag in {"html", "body", "main"}:
        return 1.0
    names = (*element.classes, element.attrs.get("id", ""), element.attrs.get("aria-label", ""))
    words = {word for name in names for word in split_words(name)}
    if words & NAVIGATION_WORDS:
        return 0.2
    if element.tag == "aside" or words & SIDEBAR_WORDS:
        return 0.4
    return 1.0
