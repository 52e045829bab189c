"""Find groups of repeated elements, best first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from random import Random

from smartspider.suggest.html.class_names import is_utility
from smartspider.suggest.html.fields.slots import SAMPLE
from smartspider.suggest.html.lists.places import PlaceMap
from smartspider.suggest.html.lists.spans import find_spans
from smartspider.suggest.html.lists.tables import (
    HeadedTable,
    find_headed_tables,
    same_headers,
    similar_headers,
)
from smartspider.suggest.html.tree import Element, Tree

MAX_GROUPS = 60
_NEVER = frozenset(
    "html body head option br hr td th col colgroup thead tfoot source track area path label input select "
    "button legend fieldset b i em strong span font img time link meta".split()
)


class ElementGroup:
    """Similar elements. `place` is 1 in the main content of a page and less in its margins."""

    __slots__ = ("items", "place", "tables")

    def __init__(self, items: list[Element], place: float, tables: tuple[HeadedTable, ...] = ()) -> None:
        self.items = items
        self.place = place
        self.tables = tables
        """The tables whose rows the elements are."""

    @property
    def sample(self) -> list[Element]:
        """Items from all over the list, at irregular distances: each fourth may be the same part of it."""
        if len(self.items) <= SAMPLE:
            return self.items
        return [self.items[number] for number in _sampled(len(self.items))]


@lru_cache(maxsize=256)
def _sampled(count: int) -> list[int]:
    """Return numbers below `count`, in order; the first two are always among them."""
    chosen = Random(count).sample(range(2, count), SAMPLE - 2)  # noqa: S311 - the same at each run
    return [0, 1, *sorted(chosen)]


def find_groups(tree: Tree) -> list[ElementGroup]:
    """Return groups of two or more elements, by the amount of their content."""
    places = PlaceMap(tree)
    tables = find_headed_tables(tree)
    in_tables = {
        row.order for some in same_headers(tables) if sum(len(one.rows) for one in some) > 1
        for one in some for row in tree.inside(one.table) if row.tag == "tr"
    }  # fmt: skip
    seen: set[tuple[str, tuple[int, ...]]] = set()
    weighed: list[tuple[float, ElementGroup]] = []
    for items in [*_repeated(tree), *find_spans(tree)]:
        orders = tuple(item.order for item in items)
        if len(items) < 2 or (items[0].tag, orders) in seen:
            continue
        if 2 * sum(order in in_tables for order in orders) > len(orders):
            continue  # these are rows of tables with headers
        seen.add((items[0].tag, orders))
        group = ElementGroup(items, places.weight(items))
        weighed.append((sum(map(_content, items)) * group.place, group))
    for alike in _table_groups(tables):
        rows = [row for one in alike for row in one.rows]
        if len(rows) < 2:
            continue
        group = ElementGroup(rows, places.weight(rows), tuple(alike))
        weighed.append((sum(map(_content, rows)) * group.place, group))
    weighed.sort(key=lambda one: -one[0])
    return [group for weight, group in weighed[:MAX_GROUPS] if weight > 0]


def _table_groups(tables: list[HeadedTable]) -> Iterator[list[HeadedTable]]:
    """Yield tables whose rows can be one list: those with similar headers, the same headers, the largest."""
    yield from similar_headers(tables)
    for some in same_headers(tables):
        yield some
        if len(some) > 1:
            yield [max(some, key=lambda one: len(one.rows))]


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


def _content(item: Element) -> float:
    """Weigh the content of an item: its texts and elements, up to a limit."""
    texts = item.texts_to - item.texts_from
    return min(texts, 40) + min(item.end - item.order, 40)
