"""From a suggestion to a task file."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from smartspider.suggest.suggestion import Suggestion


def to_task(suggestion: Suggestion, url: str) -> dict[str, Any]:
    """The task that reads pages as the suggestion does, starting at a URL."""
    fields = {field.name: field.rule for field in suggestion.fields}
    task = task_of(suggestion.name, url, suggestion.items, fields)
    if suggestion.pagination is not None:
        task["pagination"] = suggestion.pagination
    if suggestion.pipeline:
        task["pipeline"] = [dict(step) for step in suggestion.pipeline]
    return task


def task_of(name: str, url: str, items: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """The smallest task with these rules."""
    selectors: dict[str, Any] = {} if items is None else {"items": items}
    selectors["fields"] = fields
    return {"name": name, "entry_urls": [url], "selectors": selectors}


def task_name(url: str) -> str:
    """A name for the task of a URL: the host and the last word of the path."""
    parts = urlsplit(url)
    host = (parts.hostname or "site").removeprefix("www.")
    path = re.sub(r"\.\w{1,5}$", "", parts.path)
    words = re.findall(r"[A-Za-z][A-Za-z0-9]*", path)
    return plain_name("_".join([host, *words[-1:]]).lower())


def plain_name(text: str) -> str:
    """A text as the name of a task."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_-")[:60] or "task"
