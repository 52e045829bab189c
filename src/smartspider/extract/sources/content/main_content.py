"""Find the main content of a page."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import text_of

NEVER = frozenset(
    "head script style template noscript iframe object embed svg canvas audio video map math "
    "button input select textarea option datalist dialog".split()
)
"""Elements without readable content."""

_NAVIGATION_TAGS = frozenset({"nav", "footer", "aside"})
_NAVIGATION_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog"}
)
_NAVIGATION_NAMES = frozenset(
    "nav navbar navigation menu sidebar side-bar footer header site-footer site-header site-nav page-footer "
    "page-header breadcrumb breadcrumbs cookie-banner cookie-consent cookies skip-link skip-links social "
    "share sharing pagination pager advertisement ad ads sphinxsidebar related".split()
)
_TURNER_TAGS = frozenset({"div", "ul", "section", "table", "p"})
_TURNING_RELS = frozenset({"prev", "next", "up", "first", "last", "start", "contents"})
_TURNING_WORDS = frozenset(
    (
        "prev|previous|previous page|previous chapter|up|next|next page|next chapter|home|contents"
        "|table of contents|index|top|back"
        "|\u4e0a\u4e00\u9875|\u4e0b\u4e00\u9875|\u4e0a\u4e00\u7ae0|\u4e0b\u4e00\u7ae0|\u76ee\u5f55"
    ).split("|")
)
_ARROWS = " \t\r\n|<>\u00ab\u00bb\u2039\u203a\u2190\u2191\u2192\u27e8\u27e9\u00b7.:-\u00a0"
_TURNER_NODES = 60
"""A block with more nodes is not one that only turns pages."""
_SEPARATORS, _TITLES = 6, 200
"""Characters beside the links: none but marks, or the titles of the pages."""
_CONTENT = frozenset({"main", "article", "section"})
_SHARE = 0.2


def find_main(document: Document) -> LexborNode:
    """Return the element with the page's content: `main`, the only `article`, or the body."""
    root = document.root
    body: LexborNode = root.css_first("body") or root
    whole = len(text_of(body, document))
    articles = root.css("article")
    candidates: list[LexborNode] = root.css("main, [role=main]")[:1]
    if len(articles) == 1:
        candidates += articles
    for node in candidates:
        if len(text_of(node, document)) >= whole * _SHARE:
            return node
    return body


def is_hidden(node: LexborNode) -> bool:
    """Return True if an element declares itself hidden."""
    attributes = node.attributes
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = attributes.get("style")
    return bool(style) and "display:none" in (style or "").replace(" ", "").lower()


def is_navigation(node: LexborNode, tag: str) -> bool:
    """Return True for navigation, footers and the like."""
    if tag in _NAVIGATION_TAGS or (tag == "header" and _is_site_header(node)):
        return True
    attributes = node.attributes
    if attributes.get("role") in _NAVIGATION_ROLES:
        return True
    if tag in {"div", "ul", "section", "header", "table"}:
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower().split()
        if not _NAVIGATION_NAMES.isdisjoint(names):
            return True
    return tag in _TURNER_TAGS and _turns_pages(node)


def _turns_pages(node: LexborNode) -> bool:
    """Return True for a block of links to the pages before, after and above, with little text beside them."""
    links = turning = by_rel = beside = 0
    for number, inner in enumerate(node.traverse(include_text=True)):
        if number > _TURNER_NODES or inner.tag in {"h1", "h2", "h3", "pre", "img"}:
            return False
        if inner.tag == "a":
            is_by_rel = not _TURNING_RELS.isdisjoint((inner.attributes.get("rel") or "").lower().split())
            links += 1
            by_rel += is_by_rel
            turning += is_by_rel or inner.text().strip(_ARROWS).lower() in _TURNING_WORDS
        elif inner.tag == "-text" and not _is_in_link(inner, node):
            beside += len((inner.text_content or "").strip(_ARROWS))
    if not links or turning < links / 2:
        return False
    is_bare = beside <= _SEPARATORS and turning == links
    return (is_bare and (turning > 1 or by_rel == 1)) or (
        node.tag != "p" and turning > 1 and beside <= _TITLES
    )


def _is_in_link(text: LexborNode, top: LexborNode) -> bool:
    parent = text.parent
    while parent is not None and parent.mem_id != top.mem_id:
        if parent.tag == "a":
            return True
        parent = parent.parent
    return False


def _is_site_header(node: LexborNode) -> bool:
    if node.css_first("h1") is not None and node.css_first("nav") is None:
        return False
    parent = node.parent
    while parent is not None:
        if parent.tag in _CONTENT:
            return False
        parent = parent.parent
    return True
