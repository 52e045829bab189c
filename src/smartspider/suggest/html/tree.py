"""A page as plain elements.

Each call of a parser node is expensive; here each element, its text and its position are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

MAX_ELEMENTS = 60_000
"""The most elements that are read; lists repeat long before."""
UNSEEN = frozenset(
    ("script", "style", "template", "noscript", "svg", "iframe", "object", "canvas", "head", "math")
)
"""Elements without visible content."""


class Element:
    """An element of the page. Its descendants are the elements from `order + 1` up to `end`."""

    __slots__ = (
        "attrs", "children", "classes", "depth", "end", "node", "order", "own", "parent", "starts_blank",
        "tag", "texts_from", "texts_to",
    )  # fmt: skip

    def __init__(self, node: LexborNode, tag: str, parent: Element | None, order: int) -> None:
        self.node = node
        self.tag = tag
        self.parent = parent
        self.order = order
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.end = order + 1
        self.attrs: dict[str, str] = {name: value or "" for name, value in node.attributes.items()}
        self.classes = tuple(dict.fromkeys(self.attrs.get("class", "").split()))
        self.children: list[Element] = []
        self.own: list[str] = []
        """Its own non-blank text nodes."""
        self.starts_blank = False
        """True if its first text node is blank, so that `::text` is empty."""
        self.texts_from = 0
        self.texts_to = 0

    def ancestors(self) -> Iterator[Element]:
        """Yield the ancestors, nearest first."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


class Tree:
    """All visible elements in document order, and the texts between them."""

    def __init__(self, root: LexborNode, most: int = MAX_ELEMENTS) -> None:
        self.root = root
        self._most = most
        self.elements: list[Element] = []
        self.texts: list[str] = []
        self._sizes = [0]
        self.is_cut = False
        """True if the page has more elements than were read."""
        self._read()

    @property
    def size(self) -> int:
        """The number of visible characters of the page."""
        return self._sizes[-1]

    @property
    def all_text(self) -> str:
        """The visible text of the page."""
        return "".join(self.texts)

    def size_of(self, element: Element) -> int:
        """Return the number of visible characters of an element."""
        return self._sizes[element.texts_to] - self._sizes[element.texts_from]

    def text(self, element: Element, limit: int = 2000) -> str:
        """Return the collapsed text of an element."""
        found: list[str] = []
        length = 0
        for text in self.texts[element.texts_from : element.texts_to]:
            found.append(text)
            length += len(text)
            if length > limit:
                break
        return " ".join("".join(found).split())

    def inside(self, element: Element) -> list[Element]:
        """Return the descendants in document order."""
        return self.elements[element.order + 1 : element.end]

    def find(self, css: str) -> list[LexborNode]:
        """Return the matches of a selector in the page."""
        return self.root.css(css)

    def _read(self) -> None:
        node: LexborNode | None = self.root
        parent: Element | None = None
        while node is not None:
            tag = node.tag or ""
            below = None
            if tag == "-text":
                self._add_text(node.text_content or "", parent)
            elif tag[:1].isalpha() and tag not in UNSEEN:
                if len(self.elements) >= self._most:
                    self.is_cut = True
                    break
                parent = self._add(node, tag, parent)
                below = node.first_child
            if below is not None:
                node = below
                continue
            if parent is not None and parent.node.mem_id == node.mem_id:
                parent = self._close(parent)
            while node is not None and node.next is None:
                node = None if parent is None else parent.node
                if parent is not None:
                    parent = self._close(parent)
            node = None if node is None or parent is None else node.next
        while parent is not None:
            parent = self._close(parent)

    def _add(self, node: LexborNode, tag: str, parent: Element | None) -> Element:
        element = Element(node, tag, parent, len(self.elements))
        element.texts_from = len(self.texts)
        self.elements.append(element)
        if parent is not None:
            parent.children.append(element)
        if tag in {"br", "p", "div", "li", "td", "th", "dt", "dd", "tr"}:
            self._append(" ")
        return element

    def _add_text(self, text: str, parent: Element | None) -> None:
        self._append(text)
        if parent is None:
            return
        if text.isspace():
            parent.starts_blank |= not parent.own
        else:
            parent.own.append(" ".join(text.split()))

    def _append(self, text: str) -> None:
        self.texts.append(text)
        self._sizes.append(self._sizes[-1] + len(text.strip()))

    def _close(self, element: Element) -> Element | None:
        element.end = len(self.elements)
        element.texts_to = len(self.texts)
        return element.parent
