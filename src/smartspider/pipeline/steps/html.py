"""`html_text` and `markdown`: convert HTML."""

from __future__ import annotations

import re
from typing import Any

from smartspider.core.pages.markup_limits import PARSE_BUDGET, markup_problem
from smartspider.interfaces.step import StepFailed
from smartspider.pipeline.steps.base import TextStep

_BLOCKS = frozenset(
    "address article aside blockquote br caption center dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol option p pre "
    "search section summary table textarea tr ul xmp".split()
)
_PREFORMATTED = ("pre", "textarea", "listing", "xmp")
_HAS_PREFORMATTED = re.compile(f"<(?:{'|'.join(_PREFORMATTED)})", re.IGNORECASE)
_CELLS = frozenset({"td", "th"})
_UNREAD = "script,style,template,noscript,head,svg"
_HAS_UNREAD = re.compile(f"<(?:{_UNREAD.replace(',', '|')})", re.IGNORECASE)
_MOST_TAGS = 100_000
_BREAK = "\ufdd1"
"""A noncharacter that marks line breaks of the layout, as opposed to those of the source."""
_LINE = "\ufdd2"
"""Marks a preformatted line, which is kept even if it is empty."""
_SPACES = str.maketrans({" ": "\ufdd3", "\t": "\ufdd4", "\n": f"{_BREAK}{_LINE}", "\r": None})
"""Protects the whitespace of preformatted text."""
_RESTORED = str.maketrans({_LINE: None, "\ufdd3": " ", "\ufdd4": "\t"})
_MARKS = re.compile("[\ufdd1-\ufdd4]")


class HtmlTextStep(TextStep):
    """Converts an HTML fragment to text: one line per block, whitespace collapsed except in `pre`, scripts
    and styles removed, character references resolved.
    """

    def text(self, value: str) -> str:
        """Return the text."""
        if "<" in value or "&" in value:
            value = _rendered(value)
        joined = "\n".join(line for part in value.split(_BREAK) if (line := " ".join(part.split())))
        if _LINE not in joined:
            return joined
        return "\n".join(map(str.rstrip, joined.translate(_RESTORED).split("\n"))).strip("\n")


def parse_body(html: str) -> Any:
    """Parse a fragment without invisible elements; raise `StepFailed` if parsing would take seconds."""
    from selectolax.lexbor import LexborHTMLParser

    data = html.encode("utf-8", "replace")
    if data.count(b"<") > _MOST_TAGS:
        raise StepFailed("is HTML with too many tags")
    if (problem := markup_problem(data, PARSE_BUDGET // 4)) is not None:
        raise StepFailed(f"is HTML that {problem}")
    tree = LexborHTMLParser(data)
    if _HAS_UNREAD.search(html):
        for node in reversed(tree.css(_UNREAD)):  # inner elements first
            node.decompose()
    return tree.body


def _rendered(html: str) -> str:
    body = parse_body(_MARKS.sub("", html))
    if body is None:
        return ""
    if _HAS_PREFORMATTED.search(html):
        _protect_lines(body)
    marked = [(node, tag) for node in body.traverse() if (tag := node.tag) in _BLOCKS or tag in _CELLS]
    for node, tag in marked:
        if tag in _CELLS:
            node.insert_after(" ")
            continue
        node.insert_before(_BREAK)
        node.insert_after(_BREAK)
    text: str = body.text()
    return text


def _protect_lines(body: Any) -> None:
    """Mark the line breaks and spaces of preformatted elements."""
    outermost: dict[int, int] = {}
    """The preformatted element around an element, by their ids."""
    texts: dict[int, list[Any]] = {}
    for node in body.traverse(include_text=True):
        parent = node.parent
        around = None if parent is None else outermost.get(parent.mem_id)
        if around is None and node.tag in _PREFORMATTED:
            around = node.mem_id
        if around is not None:
            outermost[node.mem_id] = around
            if node.text_content is not None:
                texts.setdefault(around, []).append(node)
    for found in texts.values():
        for node in found:
            content = node.text_content.rstrip() if node is found[-1] else node.text_content
            node.replace_with(content.translate(_SPACES))


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
