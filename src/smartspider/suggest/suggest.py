"""`suggest`: find rules for a page, best first, without a language model."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from smartspider.core.errors import NotReadable
from smartspider.core.pages.page import Page
from smartspider.core.requests.request import make_request
from smartspider.extract.links.pagination import find_next_target
from smartspider.extract.parsing.document import Document
from smartspider.suggest.data_lists import api_paginations, feed_list, json_page_lists, script_lists
from smartspider.suggest.draft_check import Converted, check_draft
from smartspider.suggest.html.lists.element_lists import element_lists
from smartspider.suggest.html.next_page import find_paginations
from smartspider.suggest.html.tree import Tree
from smartspider.suggest.next_page_check import FetchPage, check_next_pages
from smartspider.suggest.page_record import page_records
from smartspider.suggest.sitemap_pages import find_sample_page, is_sitemap, sitemap_suggestions
from smartspider.suggest.spanned_tables import spanned_tables
from smartspider.suggest.suggestion import Draft, Suggestion, task_name

MAX_SUGGESTIONS = 6


class Findings(NamedTuple):
    """The suggestions of a page, and paginations that may continue its lists."""

    suggestions: list[Suggestion]
    paginations: list[dict[str, Any]]


async def suggest(page: Page, fetch: FetchPage, name: str | None = None) -> list[Suggestion]:
    """Return suggestions for a page, best first, each tried on it; raise `NotReadable`.

    `fetch` is called for the next page of a list, and for a page of a sitemap.
    """
    called = name or task_name(page.url)
    if is_sitemap(page):
        sample = await find_sample_page(page, fetch)
        return sitemap_suggestions(page, sample, find_suggestions(sample, called).suggestions, called)
    found = find_suggestions(page, called)
    return await check_next_pages(page, *found, fetch)


def find_suggestions(page: Page, name: str | None = None) -> Findings:
    """Return the findings of a page without fetching anything; raise `NotReadable`."""
    document = Document(page, make_request(page.url))
    drafts, paginations = _drafts(document)
    if find_next_target(page.headers.get("link", "")) is not None:
        paginations = [{"type": "header_link"}, *paginations]
    drafts.sort(key=lambda draft: -draft.score)
    called = name or task_name(page.url)
    known: Converted = {}
    tried = (check_draft(page, draft, called, known) for draft in drafts[: 2 * MAX_SUGGESTIONS])
    found = [one for one in tried if one is not None][:MAX_SUGGESTIONS]
    return Findings(_with_scores(found), paginations)


def _with_scores(found: list[Suggestion]) -> list[Suggestion]:
    """Scale ranks to scores: the first has its completeness, and no other has more than the one before."""
    scored: list[Suggestion] = []
    for one in found:
        score = one.completeness * one.score / found[0].score
        limit = scored[-1].score if scored else 1.0
        scored.append(msgspec.structs.replace(one, score=round(min(score, limit), 3)))
    return scored


def _drafts(document: Document) -> tuple[list[Draft], list[dict[str, Any]]]:
    """Return all drafts of a page, and its paginations."""
    url = document.page.url
    if _is_json(document):
        return feed_list(document) + json_page_lists(document), api_paginations(document.json, url)
    if document.is_xml:
        drafts = feed_list(document)
        if not drafts:
            raise NotReadable(
                "the page is XML, but not a feed", hint="write the rules by hand: smartspider init"
            )
        return drafts, []
    tree = Tree(document.root)
    lists = element_lists(tree)
    content = max((one.features["content"] for one in lists if one.features["place"] > 0.5), default=0.0)
    lists += spanned_tables(document, tree, lists)
    drafts = lists + script_lists(document, tree.all_text) + page_records(document, tree, content)
    return drafts, find_paginations(tree, url)


def _is_json(document: Document) -> bool:
    """Return True for JSON, also if the server calls it HTML."""
    if document.is_json:
        return True
    if document.page.body[:200].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in {b"{", b"["}:
        return False
    try:
        return document.json is not None
    except NotReadable:
        return False
