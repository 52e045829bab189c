"""A page or an item as Markdown."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.parsing.text import text_of
from smartspider.extract.sources.content.main_content import find_main
from smartspider.extract.sources.content.markdown_writer import MarkdownWriter

_SHARE = 0.1


def read_markdown(document: Document) -> str:
    """Return a page without navigation, footers and scripts, or all of an item; URLs are absolute."""
    root = document.root
    base = base_of(document)
    if document.is_item:
        return MarkdownWriter(base, skips_navigation=False).write(_body(root))
    content = MarkdownWriter(base, skips_navigation=True).write(find_main(document))
    whole = _body(root)
    if len(content) < _SHARE * len(text_of(whole, document)):
        # The page marks its content as navigation, or hides it until a script has run.
        content = MarkdownWriter(base, skips_navigation=False).write(whole)
    return content


def to_markdown(html: str, base: str) -> str:
    """Convert a fragment of HTML to Markdown."""
    root = LexborHTMLParser(html).root
    return MarkdownWriter(base, skips_navigation=False).write(_body(root)) if root is not None else ""


def _body(root: LexborNode) -> LexborNode:
    return root.css_first("body") or root
