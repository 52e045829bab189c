"""The text of an article, found by trafilatura and written in our own forms."""

from __future__ import annotations

import logging
import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.extract.parsing.decoding import readable_html
from smartspider.extract.parsing.directives import base_of
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import collapse, text_of
from smartspider.extract.sources import read_source
from smartspider.extract.sources.content.main_content import main_of
from smartspider.extract.sources.content.markdown import markdown_of

_LARGEST = 5_000_000
_MOST_TAGS = 50_000
"""Beyond, finding the text would take seconds, and all that is not navigation is taken for it."""
_BLOCKS_AROUND = frozenset({"body", "pre", "div", "section", "blockquote"})
_APART = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "table", "div"})
_AS_IT_IS = "\x00"
_SPACES = re.compile(r"\s+")
_LINES = frozenset({"li", "tr", "br"})


def find_text(document: Document) -> dict[str, str]:
    """What trafilatura makes of the page: some of its data, and its text as `text` and `markdown`."""
    html = readable_html(document.page)[0]
    if len(html) > _LARGEST or html.count(b"<") > _MOST_TAGS:
        return {"text": text_of(main_of(document), document), "markdown": read_source("markdown", document)}
    result = _extracted(html.decode(errors="replace"))
    root = LexborHTMLParser(_with_inline_code(result)).root if result else None
    if root is None:
        return {}
    found = {
        node.attributes.get("name") or "": collapse(node.attributes.get("content") or "")
        for node in root.css("head > meta[name]")
    }
    body = root.css_first("body")
    if body is not None:
        found["markdown"] = markdown_of(body.html or "", base_of(document))
        found["text"] = _plain(body)
    return {key: value for key, value in found.items() if value}


def _extracted(html: str) -> str | None:
    import trafilatura

    # It reports every page it can make nothing of, which is no news here.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    try:
        # Without the URL it leaves links as they are, for us to join them to the page's own base.
        return trafilatura.extract(
            html,
            output_format="html",
            with_metadata=True,
            include_comments=False,
            include_formatting=True,
            include_links=True,
            include_images=True,
            date_extraction_params={"original_date": True, "extensive_search": False},
        )
    except Exception:  # noqa: BLE001 - whatever it stumbles over, the page still has its own data
        return None


def _with_inline_code(html: str) -> str:
    """Code in the middle of a text as `code`; trafilatura writes all code as `pre`."""
    if "<pre" not in html:
        return html
    from lxml import etree

    try:
        root = etree.fromstring(html, etree.XMLParser(recover=True, resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return html
    for node in root.iter("pre"):
        parent = node.getparent()
        if parent is None:
            continue
        if parent.tag == "pre" and not (parent.text or "").strip():
            # The spaces of its pretty printing would be code.
            parent.text = None
            node.tail = node.tail if (node.tail or "").strip() else None
        elif parent.tag not in _BLOCKS_AROUND and "\n" not in (node.text or ""):
            node.tag = "code"
    return etree.tostring(root, encoding="unicode", method="html")


def _plain(body: LexborNode) -> str:
    """The text in paragraphs, an entry of a list or a row on a line."""
    parts: list[str] = []
    for node in body.traverse(include_text=True):
        content = node.text_content
        if content is not None:
            is_code = node.parent is not None and node.parent.tag == "pre"
            pieces = content.strip("\n").split("\n") if is_code else [_SPACES.sub(" ", content)]
            parts.append("\n".join(_AS_IT_IS + line if is_code else line for line in pieces))
        elif node.tag in _APART:
            parts.append("\n\n")
        elif node.tag in _LINES:
            parts.append("\n")
        elif node.tag in {"td", "th"}:
            parts.append(" ")
    lines: list[str] = []
    for part in "".join(parts).split("\n"):
        line = part[1:].rstrip() if part.startswith(_AS_IT_IS) else collapse(part)
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip()
