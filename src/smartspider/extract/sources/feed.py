"""Feeds: RSS of all versions, Atom and JSON Feed, in one form."""

from __future__ import annotations

import html
import re
from typing import Any

from lxml import etree

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.feed_node import FeedNode
from smartspider.extract.sources.json_text import InvalidEmbeddedJson, parse_loose_json
from smartspider.extract.sources.values import to_absolute_url, to_utc_date

_MOST_ENTRIES = 10_000
_HTML_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,30};")
_ROOTS = frozenset({"rss", "RDF", "feed"})
_HEAD = 16_384
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FIRST_ELEMENT = re.compile(r"<(?:\w+:)?([A-Za-z]\w*)")
_HTTP = ("http://", "https://")


def read_feed(document: Document) -> dict[str, Any] | None:
    """Return `title`, `link`, `description` and `entries`, with absolute URLs and times in UTC; None if the
    page is no feed.
    """
    page = document.page
    source = document.text.lstrip("\ufeff \t\r\n\x00")
    if source.startswith("{"):
        return read_json_feed(source, page.url)
    root = _parsed(source) if _is_feed(source) else None
    if root is None:
        return None
    top = FeedNode(root, page.url)
    return _atom(top) if top.name == "feed" else _rss(top)


def _is_feed(source: str) -> bool:
    """Check the first element; other pages are not parsed."""
    found = _FIRST_ELEMENT.search(_COMMENT.sub("", source[:_HEAD]))
    return found is not None and found[1] in _ROOTS


def _parsed(source: str) -> etree._Element | None:
    # The declaration names the original encoding; the text is UTF-8 by now.
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        recover=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    if "&" in source:
        source = _HTML_ENTITY.sub(lambda found: html.unescape(found[0]), source)
    try:
        return etree.fromstring(source.encode(errors="replace"), parser)
    except etree.XMLSyntaxError:
        return None


def _rss(top: FeedNode) -> dict[str, Any]:
    channel = top.child("channel") or top
    items = channel.children("item") or top.children("item")
    link = channel.text("link") or channel.text("atom:link@href")
    return {
        "title": channel.plain("title"),
        "link": to_absolute_url(link, channel.base),
        "description": channel.plain("description"),
        "entries": [_rss_entry(item) for item in items[:_MOST_ENTRIES]],
    }


def _rss_entry(item: FeedNode) -> dict[str, Any]:
    guid = item.child("guid")
    identity = item.text("guid") or item.attribute("rdf:about")
    link = to_absolute_url(item.text("link"), item.base) or to_absolute_url(
        item.text("atom:link@href"), item.base
    )
    if link is None and identity and identity.startswith(_HTTP):
        is_permanent = guid is None or guid.attribute("isPermaLink") != "false"
        link = to_absolute_url(identity, item.base) if is_permanent else None
    published = item.first_text("pubDate", "dc:date", "dcterms:created", "dcterms:issued", "published")
    return {
        "id": identity or link,
        "title": item.plain("title"),
        "link": link,
        "published": to_utc_date(published),
        "updated": to_utc_date(item.first_text("atom:updated", "dcterms:modified", "lastBuildDate")),
        "author": _mail_name(item.first_text("dc:creator", "author", "itunes:author")),
        "summary": item.first_text("description", "itunes:summary", "media:description"),
        "content": item.first_text("content:encoded", "xhtml:body"),
        "categories": item.texts("category") or item.texts("dc:subject"),
        "enclosures": _enclosures([*item.children("enclosure"), *item.children("media:content")], "url"),
    }


def _mail_name(author: str | None) -> str | None:
    """Return `Ann Lee` from `ann@example.com (Ann Lee)`, the author format of RSS."""
    found = re.fullmatch(r"\S+@\S+ \((.+)\)", author[:500]) if author else None
    return found[1].strip() if found is not None else author


def _atom(top: FeedNode) -> dict[str, Any]:
    return {
        "title": top.plain("title"),
        "link": _atom_link(top),
        "description": top.plain("subtitle") or top.plain("tagline"),
        "entries": [_atom_entry(entry) for entry in top.children("entry")[:_MOST_ENTRIES]],
    }


def _atom_entry(entry: FeedNode) -> dict[str, Any]:
    names = [name for author in entry.children("author") if (name := author.text("name"))]
    labels = [node.attribute("label") or node.attribute("term") for node in entry.children("category")]
    link = _atom_link(entry)
    return {
        "id": entry.text("id") or link,
        "title": entry.plain("title"),
        "link": link,
        "published": to_utc_date(entry.first_text("published", "issued", "created")),
        "updated": to_utc_date(entry.first_text("updated", "modified")),
        "author": ", ".join(names) or None,
        "summary": entry.markup("summary"),
        "content": entry.markup("content"),
        "categories": [label for label in labels if label],
        "enclosures": _enclosures(
            [node for node in entry.children("link") if node.attribute("rel") == "enclosure"], "href"
        ),
    }


def _atom_link(node: FeedNode) -> str | None:
    links = node.children("link")
    for link in links:
        if link.attribute("rel") in {None, "alternate"} and link.attribute("href"):
            return to_absolute_url(link.attribute("href"), link.base)
    return to_absolute_url(links[0].attribute("href"), links[0].base) if links else None


def _enclosures(nodes: list[FeedNode], key: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for node in nodes:
        url = to_absolute_url(node.attribute(key), node.base)
        if url is not None:
            length = collapse(node.attribute("length") or node.attribute("fileSize") or "")
            is_number = length.isascii() and length.isdigit() and len(length) < 16
            found.setdefault(
                url,
                {"url": url, "type": node.attribute("type"), "length": int(length) if is_number else None},
            )
    return list(found.values())


def read_json_feed(source: str, base: str) -> dict[str, Any] | None:
    """Return the feed, or None for other JSON."""
    try:
        feed = parse_loose_json(source)
    except InvalidEmbeddedJson:
        return None
    if not isinstance(feed, dict) or "jsonfeed.org/version" not in str(feed.get("version"))[:100]:
        return None
    items = feed.get("items")
    return {
        "title": _line(feed.get("title")),
        "link": to_absolute_url(feed.get("home_page_url"), base),
        "description": _line(feed.get("description")),
        "entries": [_json_entry(item, base) for item in _objects(items)[:_MOST_ENTRIES]],
    }


def _json_entry(item: dict[str, Any], base: str) -> dict[str, Any]:
    link = to_absolute_url(item.get("url"), base) or to_absolute_url(item.get("external_url"), base)
    authors = _objects(item.get("authors")) or _objects([item.get("author")])
    identity = item.get("id")
    tags = item.get("tags")
    return {
        "id": str(identity) if isinstance(identity, str | int | float) else link,
        "title": _line(item.get("title")),
        "link": link,
        "published": to_utc_date(item.get("date_published")),
        "updated": to_utc_date(item.get("date_modified")),
        "author": ", ".join(name for author in authors if (name := _line(author.get("name")))) or None,
        "summary": _text(item.get("summary")),
        "content": _text(item.get("content_html")) or _text(item.get("content_text")),
        "categories": [line for tag in (tags if isinstance(tags, list) else ()) if (line := _line(tag))],
        "enclosures": _json_enclosures(item.get("attachments"), base),
    }


def _json_enclosures(value: Any, base: str) -> list[dict[str, Any]]:
    found = []
    for attachment in _objects(value):
        url = to_absolute_url(attachment.get("url"), base)
        size = attachment.get("size_in_bytes")
        if url is not None:
            length = int(size) if isinstance(size, int | float) and not isinstance(size, bool) else None
            found.append({"url": url, "type": _line(attachment.get("mime_type")), "length": length})
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    return [inner for inner in value if isinstance(inner, dict)] if isinstance(value, list) else []


def _line(value: Any) -> str | None:
    return collapse(value) or None if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
