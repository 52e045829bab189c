"""Suggestions: rules for a list or record, verified on the page; and the task made of them."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

_LONGEST_NAME = 60
_PLAIN = re.compile(r"[a-z0-9.-]+(:\d+)?(/[A-Za-z0-9-]+)*(\.[a-z]{2,5})?")
"""Hosts with paths that make different names."""

SuggestionKind = Literal["list", "table", "data", "feed", "page", "sitemap"]
"""The items: repeated elements, table rows, JSON in the page, feed entries, the page itself, or the pages
that a sitemap lists.
"""

NextPageState = Literal["checked", "refused", "other", "same", "failed"]
"""`checked`: the same list was found there, with other items. `refused`: a crawl would not follow it.
`other`: it has no such list, or belongs to something else. `same`: it has the same items. `failed`: it could
not be fetched.
"""


class NextPage(msgspec.Struct, frozen=True):
    """A possible next page of a list, and what became of it when it was fetched."""

    url: str
    state: NextPageState
    message: str
    pagination: dict[str, Any]
    """The pagination that leads to it, in task form."""


class SuggestedField(msgspec.Struct, frozen=True):
    """A field of the items, with values of the page."""

    name: str
    rule: Any
    """The rule in task form."""
    samples: tuple[Any, ...] = ()
    """Its values in the first items, after its steps."""
    coverage: float = 0.0
    """The share of items with a value."""


class Suggestion(msgspec.Struct, frozen=True):
    """Rules for a page. Samples and coverage come from running the rules on the page."""

    name: str
    kind: SuggestionKind
    items: Any
    """The rule that finds the items; None if the page is one item."""
    fields: tuple[SuggestedField, ...]
    count: int
    """The number of items on the page."""
    score: float
    """Between 0 and 1. For the first suggestion, the share of what its items show that is in its fields; the
    others are lower by their rank.
    """
    reasons: tuple[str, ...]
    pagination: dict[str, Any] | None = None
    """Set only if its next page was fetched and has the same list with other items."""
    next_page: NextPage | None = None
    """The likeliest next page; None if no link on the page looks like one."""
    sitemap: str | None = None
    """The sitemap that lists the pages."""
    domains: tuple[str, ...] = ()
    """The domains to add to the scope, so that the next page is in it."""
    entry: str | None = None
    """The URL to start from, if it is not the page itself."""
    completeness: float = 1.0
    """The share of what the items show that is in the fields."""
    features: dict[str, float] = {}
    """The factors of the rank of a list."""
    details: str | None = None
    """The field with links to the page of each item."""
    pipeline: tuple[dict[str, Any], ...] = ()
    """Steps for items, where rule steps are not enough."""


class Draft(msgspec.Struct, frozen=True):
    """A suggestion that has not been tried."""

    kind: SuggestionKind
    items: Any
    fields: dict[str, Any]
    score: float
    reasons: tuple[str, ...]
    details: str | None = None
    pipeline: tuple[dict[str, Any], ...] = ()
    features: dict[str, float] = {}
    completeness: float = 1.0
    """The share of what the items show that is in the fields."""


def to_task(suggestion: Suggestion, url: str) -> dict[str, Any]:
    """Return the task of a suggestion, starting at a URL."""
    fields = {field.name: field.rule for field in suggestion.fields}
    task = make_task(suggestion.name, suggestion.entry or url, suggestion.items, fields)
    if suggestion.sitemap is not None:
        task["sitemaps"] = [suggestion.sitemap]
    if suggestion.domains:
        task["scope"] = {"domains": list(suggestion.domains)}
    if suggestion.pagination is not None:
        task["pagination"] = suggestion.pagination
    if suggestion.pipeline:
        task["pipeline"] = [dict(step) for step in suggestion.pipeline]
    return task


def make_task(name: str, url: str, items: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest task with these rules."""
    selectors: dict[str, Any] = {} if items is None else {"items": items}
    selectors["fields"] = fields
    return {"name": name, "entry_urls": [url], "selectors": selectors}


def task_name(url: str) -> str:
    """Return a task name for a URL: its host, port, path and query as words. A name that could also be that
    of another URL ends with a digest.
    """
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    where = f"{(parts.hostname or 'site').removeprefix('www.')}{port}{parts.path.rstrip('/')}"
    name = to_task_name(f"{where} {parts.query}")
    if _PLAIN.fullmatch(where) and not parts.query and len(where) <= _LONGEST_NAME:
        return name
    digest = blake2b(url.encode(), digest_size=3).hexdigest()
    return f"{name[: _LONGEST_NAME - 7].strip('_-')}_{digest}"


def to_task_name(text: str) -> str:
    """Convert a text to a valid task name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_-")[:_LONGEST_NAME] or "task"
