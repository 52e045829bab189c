"""Tell pages of one list from chapters of a manual: by their URLs and titles."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.extract.parsing.document import Document

_DIGITS = re.compile(r"\d+")
_PAGE_WORDS = re.compile(
    r"\b(?:page|seite|pagina|página|strona|стр\w*|sida|side|p)\b|第|页|頁", re.IGNORECASE
)


def is_same_series(page: Page, other: Page) -> bool:
    """Return True if the URLs or titles differ only as pages of one list do."""
    return _is_url_series(page.url, other.url) or _plain_title(page) == _plain_title(other)


def _is_url_series(one: str, other: str) -> bool:
    """Return True for URLs that differ in their query, in numbers, or in a number appended to the path."""
    mine, its = urlsplit(one), urlsplit(other)
    if mine.path == its.path:
        return mine.query != its.query or one != other
    has_number = any(_DIGITS.search(part) for part in (its.path, its.query))
    if has_number and _DIGITS.sub("0", mine.path) == _DIGITS.sub("0", its.path):
        return True
    start = mine.path.rstrip("/").rpartition(".")[0] or mine.path.rstrip("/")
    if its.path.startswith(start) and _DIGITS.search(its.path[len(start) :]):
        return True
    return any(value.isdecimal() for _, value in parse_qsl(its.query)) and not parse_qsl(mine.query)


def page_title(page: Page) -> str:
    """Return the main heading of a page, or its title."""
    try:
        root = Document(page, make_request(page.url)).root
    except NotReadable:
        return ""
    node = root.css_first("h1") or root.css_first("title")
    return " ".join(node.text().split())[:80] if node is not None else ""


def _plain_title(page: Page) -> str:
    """Return the title without numbers and the word page."""
    return re.sub(r"[\W\d_]+", " ", _PAGE_WORDS.sub(" ", page_title(page))).strip().casefold()
