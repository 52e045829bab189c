"""A page as a tree: parsed when a rule first looks into it, and at most once."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.core.errors import NotReadable
from smartspider.core.page import Page
from smartspider.core.request import Request
from smartspider.extract.reading import readable_html


class Document:
    """A page and the request it answers. `root` raises `NotReadable` for what is not HTML."""

    __slots__ = ("_root", "_script_holders", "cleaned", "is_stained", "page", "request")

    def __init__(self, page: Page, request: Request) -> None:
        self.page = page
        self.request = request
        self.cleaned = 0
        """Values that had foreign characters taken out so far."""
        self.is_stained = False
        """The page has foreign characters, so its values have to be cleaned."""
        self._root: LexborNode | None = None
        self._script_holders: set[int] | None = None

    @property
    def root(self) -> LexborNode:
        """The `html` element."""
        root = self._root
        if root is None:
            html, self.is_stained = readable_html(self.page)
            root = self._root = LexborHTMLParser(html).root
            if root is None:
                raise NotReadable("the parser made nothing of the page")
        return root

    @property
    def script_holders(self) -> set[int]:
        """Ids of the elements that have a script or a style inside."""
        holders = self._script_holders
        if holders is None:
            holders = self._script_holders = set()
            for node in self.root.css("script, style"):
                parent = node.parent
                while parent is not None and parent.mem_id not in holders:
                    holders.add(parent.mem_id)
                    parent = parent.parent
        return holders
