"""The article of a page: its metadata and its text."""

from __future__ import annotations

import re
from typing import Any

from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.link_markup import base_of
from smartspider.extract.parsing.text import text_of
from smartspider.extract.sources import read_source
from smartspider.extract.sources.content.article_date import days_of_times, find_article_date
from smartspider.extract.sources.content.article_text import find_text, without_title
from smartspider.extract.sources.opengraph import first_text
from smartspider.extract.sources.schema_org.things import Thing, ThingGraph, text, types_of
from smartspider.extract.sources.values import to_absolute_url, to_iso_date

_ARTICLES = ("Article", "Posting", "Report", "Review", "Recipe", "WebPage")
_DATE_IN_PATH = re.compile(r"/((?:19|20)\d\d)[/-]([01]\d)[/-]([0-3]\d)(?=[/_-]|$)")
_LONGEST_LINE = 500


def read_article(document: Document) -> Thing | None:
    """Return one object with the same keys on every site, null if unknown; None if there is no article."""
    base = base_of(document)
    found = find_text(document)
    metadata = _read_metadata(document, base)
    page = _read_visible(document)
    title = metadata["title"] or found.get("title") or page["title"]
    if title is None and not found.get("text"):
        return None
    return {
        "title": title,
        "author": metadata["author"] or found.get("author"),
        "date": metadata["date"]
        or find_article_date(document)
        or _found_date(found.get("date"), document)
        or _date_in_url(document.page.url),
        "site": metadata["site"] or found.get("sitename"),
        "language": metadata["language"] or page["language"],
        "description": metadata["description"] or found.get("description"),
        "text": without_title(found.get("text"), (title, found.get("title"), page["title"])),
        "markdown": found.get("markdown"),
        "image": metadata["image"],
        "url": page["url"] or metadata["url"] or document.page.url,
    }


def _read_metadata(document: Document, base: str) -> dict[str, str | None]:
    """Read JSON-LD, and then OpenGraph."""
    things = ThingGraph(read_source("json_ld", document))
    graph = read_source("opengraph", document)
    inner = graph.get("article")
    own: Thing = inner if isinstance(inner, dict) else {}
    thing = _article_of(things)
    site = things.name(thing.get("publisher")) or things.name(thing.get("isPartOf"))
    authors = [name for author in things.each(thing.get("author")) if (name := things.name(author))]
    written = first_text(own.get("author"))
    return {
        "title": text(thing.get("headline")) or first_text(graph.get("title")),
        "author": ", ".join(dict.fromkeys(authors[:50])) or (None if _is_url(written) else written),
        "date": to_iso_date(text(thing.get("datePublished")))
        or to_iso_date(first_text(own.get("published_time"))),
        "site": first_text(graph.get("site_name")) or site,
        "language": _language(text(thing.get("inLanguage")) or first_text(graph.get("locale"))),
        "description": text(thing.get("description")) or first_text(graph.get("description")),
        "image": things.image(thing.get("image"), base)
        or to_absolute_url(first_text(graph.get("image")), base),
        "url": to_absolute_url(first_text(graph.get("url")), base),
    }


def _is_url(value: str | None) -> bool:
    """Return True for a URL, which some sites give as author."""
    return value is not None and value.startswith(("http://", "https://"))


def _article_of(things: ThingGraph) -> Thing:
    """Return the article among the objects; a page object only if there is no article."""
    best: Thing = {}
    rank = len(_ARTICLES)
    for thing in things.things:
        for kind in types_of(thing):
            for place, ending in enumerate(_ARTICLES):
                if kind.endswith(ending) and place < rank:
                    best, rank = thing, place
    return best


def _read_visible(document: Document) -> dict[str, str | None]:
    """Read the visible page: its heading or title, its language, its URL."""
    root = document.root
    heading = root.css_first("h1") or root.css_first("title")
    title = text_of(heading, document)[:_LONGEST_LINE] if heading is not None else ""
    canonical = root.css_first("link[rel=canonical][href]")
    address: Any = canonical.attributes.get("href") if canonical is not None else None
    return {
        "title": title or None,
        "language": _language(root.attributes.get("lang") or root.attributes.get("xml:lang")),
        "url": to_absolute_url(address, base_of(document)),
    }


def _found_date(date: str | None, document: Document) -> str | None:
    """Return the date that trafilatura found, unless it is that of an element that is not the article's."""
    found = to_iso_date(date)
    return None if found is not None and found[:10] in days_of_times(document) else found


def _date_in_url(url: str) -> str | None:
    """Return the date in a URL such as `/2026/01/03/rivers-rise`."""
    found = _DATE_IN_PATH.search(url[:2_000])
    return to_iso_date("-".join(found.groups())) if found is not None else None


def _language(tag: str | None) -> str | None:
    """Return `en` or `zh-CN` from a language tag; None if it is invalid."""
    found = (tag or "").strip().replace("_", "-")
    is_tag = bool(found) and len(found) <= 20 and found.replace("-", "").isalnum() and found.isascii()
    return found if is_tag else None
