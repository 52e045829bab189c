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
        return not _NAVIGATION_NAMES.isdisjoint(names)
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
