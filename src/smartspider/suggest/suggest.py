"""`suggest`: find rules for a page, best first, without a language model."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.extract.links.pagination import find_next_target
from smartspider.extract.parsing.document import Document
from smartspider.suggest.data_lists import api_pagination, feed_list, json_page_lists, script_lists
from smartspider.suggest.draft_check import check_draft
from smartspider.suggest.html.element_lists import element_lists
from smartspider.suggest.html.next_page import find_pagination
from smartspider.suggest.html.tree import Tree
from smartspider.suggest.page_record import page_records
from smartspider.suggest.suggestion import Draft, Suggestion, task_name

MAX_SUGGESTIONS = 6


def suggest(page: Page, name: str | None = None) -> list[Suggestion]:
    """Return suggestions for a page, best first, each tried on the page; raise `NotReadable`."""
    document = Document(page, make_request(page.url))
    drafts, pagination = _drafts(document)
    if pagination is None and find_next_target(page.headers.get("link", "")) is not None:
        pagination = {"type": "header_link"}
    drafts.sort(key=lambda draft: -draft.score)
    called = name or task_name(page.url)
    found = [
        one
        for draft in drafts[: 2 * MAX_SUGGESTIONS]
        if (one := check_draft(page, draft, called)) is not None
    ][:MAX_SUGGESTIONS]
    best = max((one.score for one in found), default=1.0)
    return [
        msgspec.structs.replace(
            one,
            score=round(one.score / best, 3),
            pagination=None if one.kind in {"page", "feed"} else pagination,
        )
        for one in found
    ]


def _drafts(document: Document) -> tuple[list[Draft], dict[str, Any] | None]:
    """Return all drafts of a page, and its pagination."""
    url = document.page.url
    if _looks_like_json(document):
        return feed_list(document) + json_page_lists(document), api_pagination(document.json, url)
    if document.is_xml:
        drafts = feed_list(document)
        if not drafts:
            raise NotReadable(
                "the page is XML, but not a feed", hint="write the rules by hand: smartspider init"
            )
        return drafts, None
    tree = Tree(document.root)
    drafts = element_lists(tree) + script_lists(document) + page_records(document, tree)
    return drafts, find_pagination(tree, url)


def _looks_like_json(document: Document) -> bool:
    return document.is_json or document.page.body[:200].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["}
