"""The links of a page or an item."""

from __future__ import annotations

from typing import Any

from smartspider.core.requests.urls import host_of
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of, normalize_href
from smartspider.extract.parsing.text import collapse
from smartspider.extract.sources.values import TextBudget, to_absolute_url

_MOST = 50_000


def read_links(document: Document) -> list[dict[str, Any]]:
    """Return each URL once, at its first position: `url`, `text`, `rel`, `nofollow`, and `internal` for the
    same host.

    A link without text takes the text of its image, or of a later link to the same URL.
    """
    base = base_of(document)
    host = host_of(document.page.url)
    texts = TextBudget(document)
    links: dict[str, dict[str, Any]] = {}
    for node in document.root.css(":is(a, area)[href]"):
        attributes = node.attributes
        href = normalize_href(attributes["href"] or "")
        url = to_absolute_url(href, base)
        if url is None:
            continue
        known = links.get(url)
        if known is not None and known["text"]:
            continue
        text = texts.read(node) or _label(node)
        if known is not None:
            known["text"] = text
            continue
        if len(links) >= _MOST:
            break
        rel = collapse(attributes.get("rel") or "").lower()
        links[url] = {
            "url": url,
            "text": text,
            "rel": rel or None,
            "nofollow": "nofollow" in rel.split(),
            "internal": host_of(url) == host,
        }
    return list(links.values())


def _label(node: Any) -> str:
    attributes = node.attributes
    for name in ("alt", "aria-label", "title"):
        if attributes.get(name):
            return collapse(attributes[name])
    picture = node.css_first("img[alt]")
    return collapse(picture.attributes["alt"] or "") if picture is not None else ""
