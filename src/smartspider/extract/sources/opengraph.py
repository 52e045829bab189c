"""OpenGraph and related `<meta property>` elements."""

from __future__ import annotations

from typing import Any

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.values import to_absolute_url

_MOST = 5_000
_FAMILIES = frozenset({"article", "product", "twitter", "book", "profile", "music"})
_ADDRESSES = frozenset({
    "url", "image", "image_url", "image_secure_url", "video", "video_url", "video_secure_url",
    "audio", "audio_url", "audio_secure_url", "player", "image_src",
})  # fmt: skip


def read_opengraph(document: Document) -> dict[str, Any]:
    """Return `og:title` as `title`, `og:image:width` as `image_width`, `article:author` as `author` in
    `article`.

    Repeated properties become a list. URLs are absolute.
    """
    found: dict[str, Any] = {}
    base = base_of(document)
    for node in document.root.css("meta[content]")[:_MOST]:
        attributes = node.attributes
        name = (attributes.get("property") or attributes.get("name") or "").strip().lower()
        family, _, rest = name.partition(":")
        content = collapse(attributes["content"] or "")
        if not rest or not content or (family != "og" and family not in _FAMILIES):
            continue
        key = rest.replace(":", "_")
        if key in _ADDRESSES:
            content = to_absolute_url(content, base) or content
        if family == "og":
            _add(found, key, content)
        elif isinstance(inner := found.setdefault(family, {}), dict):
            _add(inner, key, content)
    return found


def _add(found: dict[str, Any], key: str, content: str) -> None:
    known = found.get(key)
    if known is None:
        found[key] = content
    elif isinstance(known, list):
        known.append(content)
    elif isinstance(known, str):
        found[key] = [known, content]


def first_text(value: Any) -> str | None:
    """Return the text, or the first of several."""
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, str) else None
