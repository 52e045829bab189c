"""A page in its parsed forms, each created on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import Request
from smartspider.core.workers import activity
from smartspider.extract.parsing.decoding import decode_html, decode_json, decode_text, is_xml_page
from smartspider.extract.parsing.json_parser import InvalidJson, read_json

if TYPE_CHECKING:
    from lxml import etree

    from smartspider.interfaces.step import ValueRejected

_MISSING: Any = object()
_MOST_BEFORE = 1000
"""Comments before the `html` element that are removed. Each takes as long as there are others."""


class Document:
    """A page and its request. Forms that the page does not have raise `NotReadable`."""

    __slots__ = (
        "_is_xml",
        "_json",
        "_root",
        "_script_holders",
        "_text",
        "_tree",
        "_tree_script_holders",
        "_unreadable",
        "cleaned",
        "context",
        "directives",
        "has_invalid",
        "is_item",
        "is_on_lxml",
        "page",
        "prefixes",
        "rejected",
        "request",
        "sources",
    )  # fmt: skip

    def __init__(
        self, page: Page, request: Request, *, is_on_lxml: bool = False, is_item: bool = False
    ) -> None:
        self.page = page
        self.request = request
        self.is_item = is_item
        """The document is the HTML of one item of a page."""
        self.is_on_lxml = is_on_lxml
        """lxml reads the page type, including HTML."""
        self.cleaned = 0
        """The number of values cleaned so far."""
        self.has_invalid = False
        """The page has invalid characters, so its values must be cleaned."""
        self.sources: dict[str, Any] = {}
        """Data read from the page so far, by source."""
        self.rejected: dict[int, tuple[str, ValueRejected]] = {}
        """Items rejected by a rule step: the field and the error."""
        self.prefixes: dict[str, str] = {}
        """Namespace prefixes of an XML page; set with `tree`."""
        self.context: Any = None
        self.directives: Any = None
        """Caches of other modules."""
        self._unreadable: dict[str, NotReadable] = {}
        self._root: LexborNode | None = None
        self._tree: etree._Element | None = None
        self._json: Any = _MISSING
        self._text: str | None = None
        self._is_xml: bool | None = None
        self._script_holders: set[int] | None = None
        self._tree_script_holders: set[etree._Element] | None = None

    @property
    def is_xml(self) -> bool:
        """True for XML other than XHTML: a feed, a sitemap, a response of a service."""
        is_xml = self._is_xml
        if is_xml is None:
            is_xml = self._is_xml = is_xml_page(self.page)
        return is_xml

    @property
    def is_json(self) -> bool:
        """True if the page was read as JSON or declares JSON."""
        return self._json is not _MISSING or self.page.media_type.endswith(("/json", "+json"))

    @property
    def root(self) -> LexborNode:
        """The `html` element of Lexbor."""
        root = self._root
        if root is None:
            html = self._html()
            activity.enter(activity.PARSE)
            root = self._root = LexborHTMLParser(html).root
            activity.enter(activity.EXTRACT)
            if root is None:
                raise NotReadable("the parser returned no document")
            for _ in range(_MOST_BEFORE):
                # Lexbor counts a doctype and comments before it for `:first-child`.
                if (before := root.prev) is None:
                    break
                before.remove()
        return root

    @property
    def tree(self) -> etree._Element:
        """The root element of lxml, for HTML or XML. Elements of a default namespace have none."""
        tree = self._tree
        if tree is None:
            from smartspider.extract.parsing.lxml_tree import parse_html, parse_xml

            html = self._html()
            activity.enter(activity.PARSE)
            if self.is_xml:
                tree, self.prefixes = parse_xml(html)
            else:
                tree = parse_html(html)
            activity.enter(activity.EXTRACT)
            self._tree = tree
        return tree

    @property
    def json(self) -> Any:
        """The body as a JSON value."""
        value = self._json
        if value is _MISSING:
            self._raise_again("json")
            body, has_foreign = decode_json(self.page)
            try:
                value = self._json = read_json(body)
            except InvalidJson as wrong:
                raise self._remember("json", NotReadable(f"the page is not JSON: {wrong}")) from None
            self.has_invalid |= has_foreign
        return value

    @property
    def text(self) -> str:
        """The source of the page."""
        text = self._text
        if text is None:
            self._raise_again("text")
            try:
                text, has_foreign = decode_text(self.page)
            except NotReadable as wrong:
                raise self._remember("text", wrong) from None
            self._text = text
            self.has_invalid |= has_foreign
        return text

    @property
    def script_holders(self) -> set[int]:
        """Ids of Lexbor elements that contain a script or style."""
        holders = self._script_holders
        if holders is None:
            holders = self._script_holders = set()
            for node in self.root.css("script, style"):
                parent = node.parent
                while parent is not None and parent.mem_id not in holders:
                    holders.add(parent.mem_id)
                    parent = parent.parent
        return holders

    @property
    def tree_script_holders(self) -> set[etree._Element]:
        """Elements of lxml that contain a script or style; none in XML."""
        holders = self._tree_script_holders
        if holders is None:
            holders = self._tree_script_holders = set()
            for node in () if self.is_xml else self.tree.iter("script", "style"):
                parent = node.getparent()
                while parent is not None and parent not in holders:
                    holders.add(parent)
                    parent = parent.getparent()
        return holders

    def _html(self) -> bytes:
        self._raise_again("html")
        try:
            html, has_foreign = decode_html(self.page)
        except NotReadable as wrong:
            raise self._remember("html", wrong) from None
        self.has_invalid |= has_foreign
        return html

    def _remember(self, form: str, wrong: NotReadable) -> NotReadable:
        self._unreadable[form] = wrong
        return wrong

    def _raise_again(self, form: str) -> None:
        """Raise the earlier error, so that an unreadable page is parsed only once."""
        known = self._unreadable.get(form)
        if known is not None:
            raise NotReadable(known.message, hint=known.hint)
