"""JSON Feed, in the form all feeds have here."""

from __future__ import annotations

from typing import Any

from smartspider.extract.sources.addresses import absolute
from smartspider.extract.sources.json_text import JsonBroken, loose_json
from smartspider.extract.sources.moments import utc_moment
from smartspider.extract.texts import collapsed

_MOST = 10_000


def read_json_feed(source: str, base: str) -> dict[str, Any] | None:
    """The feed, or None if the text is another JSON."""
    try:
        feed = loose_json(source)
    except JsonBroken:
        return None
    if not isinstance(feed, dict) or "jsonfeed.org/version" not in str(feed.get("version"))[:100]:
        return None
    items = feed.get("items")
    return {
        "title": _line(feed.get("title")),
        "link": absolute(feed.get("home_page_url"), base),
        "description": _line(feed.get("description")),
        "entries": [_entry(item, base) for item in _objects(items)[:_MOST]],
    }


def _entry(item: dict[str, Any], base: str) -> dict[str, Any]:
    link = absolute(item.get("url"), base) or absolute(item.get("external_url"), base)
    authors = _objects(item.get("authors")) or _objects([item.get("author")])
    identity = item.get("id")
    tags = item.get("tags")
    return {
        "id": str(identity) if isinstance(identity, str | int | float) else link,
        "title": _line(item.get("title")),
        "link": link,
        "published": utc_moment(item.get("date_published")),
        "updated": utc_moment(item.get("date_modified")),
        "author": ", ".join(name for author in authors if (name := _line(author.get("name")))) or None,
        "summary": _text(item.get("summary")),
        "content": _text(item.get("content_html")) or _text(item.get("content_text")),
        "categories": [line for tag in (tags if isinstance(tags, list) else ()) if (line := _line(tag))],
        "enclosures": _enclosures(item.get("attachments"), base),
    }


def _enclosures(value: Any, base: str) -> list[dict[str, Any]]:
    found = []
    for attachment in _objects(value):
        url = absolute(attachment.get("url"), base)
        size = attachment.get("size_in_bytes")
        if url is not None:
            length = int(size) if isinstance(size, int | float) and not isinstance(size, bool) else None
            found.append({"url": url, "type": _line(attachment.get("mime_type")), "length": length})
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    return [inner for inner in value if isinstance(inner, dict)] if isinstance(value, list) else []


def _line(value: Any) -> str | None:
    return collapsed(value) or None if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
