"""Suggest tasks for a page: check its answer, detect its lists, check their next pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from smartspider.core.errors import FetchFailed, NotAllowed, NotFound, NotReadable, SmartSpiderError
from smartspider.core.pages.page import Page
from smartspider.suggest.explanation import explain
from smartspider.suggest.next_page_check import FetchPage
from smartspider.suggest.suggest import suggest
from smartspider.suggest.suggestion import Suggestion, to_task
from smartspider.views.preview import SuggestionsView

_BY_HAND = "write the selectors manually; `smartspider init` creates a starter task"
_NOT_ALLOWED = frozenset({401, 403, 407, 451})
_LATER = frozenset({408, 425, 429})


async def find_candidates(url: str, fetch: FetchPage, name: str | None) -> tuple[Page, list[Suggestion]]:
    """Return a page and its candidates. Raise `NotFound` if there are none or the page does not exist,
    `NotAllowed` if it wants credentials, and `FetchFailed`.
    """
    page = await fetch(url)
    if page.status >= 400:
        raise _refusal(url, page.status)
    try:
        found = await suggest(page, fetch, name)
    except NotReadable as error:
        hint = error.hint or _BY_HAND
        raise NotFound(f"cannot suggest a task for {url}: {error.message}", hint=hint) from error
    if not found:
        raise NotFound(
            f"no list or structured data found on {url}",
            hint=f"{_BY_HAND}; if JavaScript renders the page, use the URL of its JSON API",
        )
    return page, found


def _refusal(url: str, status: int) -> SmartSpiderError:
    what = f"{url} returned status {status}"
    if status in _NOT_ALLOWED:
        hint = "if you may read it, send credentials in a header, such as -H 'Cookie: ${COOKIE}'"
        return NotAllowed(what, hint=hint)
    if status in _LATER or status >= 500:
        return FetchFailed(what, hint="the site does not serve the page now; try again later")
    return NotFound(what, hint="check the URL")


def suggestions_view(
    page: Page, found: list[Suggestion], url: str, headers: Mapping[str, str]
) -> SuggestionsView:
    """Return the view of the candidates of a page."""
    candidates = [{**msgspec.to_builtins(one), "task": suggested_task(one, url, headers)} for one in found]
    view = {"url": page.url, "candidates": candidates, "explanation": explain(found, 1)}
    return msgspec.convert(view, SuggestionsView)


def suggested_task(suggestion: Suggestion, url: str, headers: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the task of a suggestion for a URL that was fetched with these headers."""
    task = to_task(suggestion, url)
    return {**task, "fetch": {"headers": dict(headers)}} if headers else task
