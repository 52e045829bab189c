"""`html_text` and `markdown`: convert HTML."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.pages.nesting import PARSE_BUDGET, is_too_deep
from smartspider.interfaces.step import StepFailed
from smartspider.pipeline.steps.base import TextStep

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr li main nav ol p pre section table tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_UNREAD = "script,style,template,noscript,head,svg"
_HAS_UNREAD = re.compile(f"<(?:{_UNREAD.replace(',', '|')})", re.IGNORECASE)
_MOST_TAGS = 100_000
_BREAK = "\ufdd1"
"""A noncharacter that marks line breaks of the layout, as opposed to those of the source."""


class HtmlTextStep(TextStep):
    """Converts an HTML fragment to text: one line per block, whitespace collapsed, scripts and styles
    removed, character references resolved.
    """

    def text(self, value: str) -> str:
        """Return the text."""
        if "<" in value or "&" in value:
            value = _rendered(value)
        lines = (" ".join(line.split()) for line in value.split(_BREAK))
        return "\n".join(line for line in lines if line)


def parse_body(html: str) -> Any:
    """Parse a fragment without invisible elements; raise `StepFailed` if parsing would take seconds."""
    from selectolax.lexbor import LexborHTMLParser

    data = html.encode("utf-8", "replace")
    if data.count(b"<") > _MOST_TAGS:
        raise StepFailed("is HTML with too many tags")
    if is_too_deep(data, PARSE_BUDGET // 4):
        raise StepFailed("is HTML that is nested too deep")
    tree = LexborHTMLParser(data)
    if _HAS_UNREAD.search(html):
        for node in reversed(tree.css(_UNREAD)):  # inner elements first
            node.decompose()
    return tree.body


def _rendered(html: str) -> str:
    body = parse_body(html.replace(_BREAK, ""))
    if body is None:
        return ""
    marked = [(node, tag) for node in body.traverse() if (tag := node.tag) in _BLOCKS or tag in _CELLS]
    for node, tag in marked:
        if tag in _CELLS:
            node.insert_after(" ")
            continue
        node.insert_before(_BREAK)
        node.insert_after(_BREAK)
    text: str = body.text()
    return text


_LONGEST = 2_000_000
_GAPS = re.compile(r"\n{3,}")


class MarkdownStep(TextStep):
    """Converts an HTML fragment to Markdown, without scripts and styles."""

    def text(self, value: str) -> str:
        """Return the Markdown."""
        if len(value) > _LONGEST:
            raise StepFailed("is too long to become Markdown")
        from markdownify import markdownify

        body = parse_body(value)
        try:
            marked: str = markdownify(body.html if body is not None else "", heading_style="ATX", bullets="-")
        except RecursionError as error:
            raise StepFailed("is HTML that is nested too deep") from error
        return _GAPS.sub("\n\n", marked).strip()
