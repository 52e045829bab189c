"""Where elements are on a page: main content, margins, navigation."""

from __future__ import annotations

from smartspider.suggest.html.class_names import place_words
from smartspider.suggest.html.tree import Element, Tree
from smartspider.suggest.vocabulary import SIDEBAR_WORDS, is_navigation

_AWAY_TAGS = frozenset(("nav", "footer", "menu"))
_AWAY_ROLES = frozenset(
    ("navigation", "contentinfo", "menu", "menubar", "dialog", "search", "banner", "toolbar")
)
_MAIN_NAMES = frozenset(("content", "main", "primary", "maincontent", "main-content", "bodycontent"))
_RESULT_WORDS = frozenset(("result", "results"))
_AD_WORDS = frozenset(("ad", "ads"))
"""Words for advertisements, and for what is found on sites with classified ones."""
NAVIGATION, MARGIN, OUTSIDE = 0.15, 0.4, 0.6
_MOST_OF_THE_PAGE = 0.6
_SHALLOW = 6
_COMPARED = 30


class PlaceMap:
    """The weight of each element: 1 in the main content, less in margins and navigation."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._weights: list[float] = []
        self._main = main = _main_of(tree)
        for element in tree.elements:
            above = 1.0 if element.parent is None else self._weights[element.parent.order]
            own = self._own_weight(element)
            weight = above * own if own <= NAVIGATION else min(above, own)
            if main is not None and element.parent is main.parent and element is not main:
                weight = min(weight, OUTSIDE)
            self._weights.append(weight)

    def weight(self, items: list[Element]) -> float:
        """Return the mean weight of where elements are; their own names say what they are."""
        parents = [item.parent for item in items if item.parent is not None]
        mean = sum(self._weights[parent.order] for parent in parents) / max(1, len(parents))
        menus = sum(_is_menu_entry(item) for item in items[:_COMPARED])
        return min(mean, NAVIGATION) if 2 * menus > len(items[:_COMPARED]) else mean

    def _own_weight(self, element: Element) -> float:
        if element.tag in {"html", "body", "main"} or element.attrs.get("role") == "main":
            return 1.0
        if self._main is not None and element.order < self._main.order < element.end:
            return 1.0
        words = _words(element)
        has_results = not words.isdisjoint(_RESULT_WORDS)
        role = element.attrs.get("role", "").lower()
        if element.tag in _AWAY_TAGS or (role in _AWAY_ROLES and not has_results):
            return NAVIGATION
        if element.tag == "aside" or self._is_page_header(element):
            return MARGIN
        aside = words & SIDEBAR_WORDS - (_AD_WORDS if has_results else frozenset())
        weight = NAVIGATION if is_navigation(words) else MARGIN if aside else 1.0
        return 1.0 if weight < 1 and self._is_most(element, weight) else weight

    def _is_page_header(self, element: Element) -> bool:
        """Return True for the header at the start of the page, before its content."""
        is_header = element.tag == "header" or "header" in _words(element)
        return (
            is_header
            and element.depth < _SHALLOW
            and element.end < len(self._tree.elements) / 3
            and not any(one.tag == "article" for one in element.ancestors())
        )

    def _is_most(self, element: Element, weight: float) -> bool:
        """Return True if most of the page is in the element, so that its names describe the page.

        Menus can be most of a page, too, but have no main heading.
        """
        is_most = self._tree.size_of(element) > _MOST_OF_THE_PAGE * self._tree.size
        return is_most and (weight > NAVIGATION or any(one.tag == "h1" for one in self._tree.inside(element)))


def _is_menu_entry(item: Element) -> bool:
    return any(is_navigation(place_words(name)) for name in item.classes)


def _words(element: Element) -> set[str]:
    names = (*element.classes, element.attrs.get("id", ""), element.attrs.get("aria-label", "")[:60])
    return {word for name in names for word in place_words(name)}


def _main_of(tree: Tree) -> Element | None:
    """Return the element with the main content, if there is exactly one."""
    marked = [one for one in tree.elements if one.tag == "main" or one.attrs.get("role") == "main"]
    if not marked:
        marked = [one for one in tree.elements if one.attrs.get("id", "").lower() in _MAIN_NAMES]
    return marked[0] if len(marked) == 1 and 5 * tree.size_of(marked[0]) > tree.size else None
