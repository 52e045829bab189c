"""The text of an article, as found by trafilatura."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.extract.parsing.decoding import decode_html
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.parsing.text import collapse, text_of
from smartspider.extract.sources import read_source
from smartspider.extract.sources.content.code_blocks import plain_code_blocks
from smartspider.extract.sources.content.main_content import find_main
from smartspider.extract.sources.content.markdown import to_markdown

_LARGEST = 5_000_000
_MOST_TAGS = 20_000
"""Above this, extraction would take seconds, and everything but navigation is used."""
_CONTAINER_TAGS = frozenset({"body", "pre", "div", "section", "blockquote"})
_BLOCK_TAGS = frozenset(
    {"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "table", "div"}
)
_AS_IT_IS = "\x00"
_SPACES = re.compile(r"\s+")
_LINES = frozenset({"li", "tr", "br"})


def find_text(document: Document) -> dict[str, str]:
    """Return the metadata that trafilatura finds, and the text as `text` and `markdown`."""
    html = decode_html(document.page)[0]
    if len(html) > _LARGEST or html.count(b"<") > _MOST_TAGS:
        return {"text": text_of(find_main(document), document), "markdown": read_source("markdown", document)}
    text = plain_code_blocks(html.decode(errors="replace"))
    plain, linked = _extracted(text, has_links=False), _extracted(text, has_links=True)
    if plain is None:
        return {}
    found = {
        node.attributes.get("name") or "": collapse(node.attributes.get("content") or "")
        for node in plain.css("head > meta[name]")
    }
    body = plain.css_first("body")
    if body is not None:
        found["text"] = _plain(body)
    rich = linked.css_first("body") if linked is not None else body
    if rich is not None:
        found["markdown"] = to_markdown(rich.html or "", base_of(document))
    return {key: value for key, value in found.items() if value}


def _extracted(html: str, *, has_links: bool) -> LexborNode | None:
    """Return the extracted page. With links and images it takes menus for text more often, so these are for
    Markdown only; metadata comes without them.
    """
    import trafilatura

    # It logs every page it cannot extract.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    try:
        # Without the URL it leaves links unchanged, so they are joined to the page's own base here.
        result = trafilatura.extract(
            html,
            output_format="html",
            with_metadata=not has_links,
            include_comments=False,
            include_formatting=True,
            include_links=has_links,
            include_images=has_links,
            date_extraction_params={"original_date": True, "extensive_search": False},
        )
    except Exception:  # noqa: BLE001 - whatever it stumbles over, the page still has its own data
        return None
    return LexborHTMLParser(_with_inline_code(result)).root if result else None


def _with_inline_code(html: str) -> str:
    """Convert code inside text to `code`; trafilatura writes all code as `pre`."""
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
            # Indentation by its pretty printing would become code.
            parent.text = None
            node.tail = node.tail if (node.tail or "").strip() else None
        elif parent.tag not in _CONTAINER_TAGS and "\n" not in (node.text or ""):
            node.tag = "code"
    return etree.tostring(root, encoding="unicode", method="html")


def _plain(body: LexborNode) -> str:
    """Return the text in paragraphs, with one line per list entry or row."""
    parts: list[str] = []
    for node in body.traverse(include_text=True):
        content = node.text_content
        if content is not None:
            if node.prev is not None and node.prev.tag in _BLOCK_TAGS:
                parts.append("\n\n")
            is_code = node.parent is not None and node.parent.tag == "pre"
            pieces = content.strip("\n").split("\n") if is_code else [_SPACES.sub(" ", content)]
            parts.append("\n".join(_AS_IT_IS + line if is_code else line for line in pieces))
        elif node.tag in _BLOCK_TAGS:
            parts.append("\n\n")
        elif node.tag in _LINES:
            parts.append("\n")
        elif node.tag in {"td", "th"}:
            parts.append(" ")
    lines: list[str] = []
    for part in "".join(parts).split("\n"):
        line = part[1:].rstrip() if part.startswith(_AS_IT_IS) else _without_aside(collapse(part))
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip()


_ASIDE = re.compile(
    r"(?:related(?: (?:post|article|story|stories|content|link))?s?|read (?:more|also|next)|see (?:more|also)"
    r"|also (?:read|see)|more|recommended|don['\u2019]t miss|watch(?: more)?|you (?:may|might) also like"
    r"|most (?:read|popular).*|popular on .*|filed under|tags?|share this.*|comments?|advertisement)"
    r"\s*(?:[:|\u2026].*|\.\.\.)?",
    re.IGNORECASE,
)
_MOST_WORDS = 25


def _without_aside(line: str) -> str:
    """Return a line, or nothing if it only points to other pages."""
    is_aside = _ASIDE.fullmatch(line) is not None and len(line.split()) <= _MOST_WORDS
    return "" if is_aside else line


_WORDS = re.compile(r"\w+")


def without_title(text: str | None, titles: Iterable[str | None]) -> str | None:
    """Return the text without the title of the article at its beginning."""
    known = {_words(title) for title in titles if title}
    while text:
        first, _, rest = text.partition("\n")
        if _words(first) not in known:
            break
        text = rest.lstrip("\n")
    return text or None


def _words(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold()))
