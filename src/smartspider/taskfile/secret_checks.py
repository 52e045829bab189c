"""Checks of references to secrets: `${NAME}` in headers, bodies and options of layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from smartspider.core.errors import Problem
from smartspider.core.requests.secrets import OPENING, malformed_reference, references_in
from smartspider.taskfile.model.entries import Entry
from smartspider.taskfile.model.task import Task

_IN_A_URL = "a URL is stored and logged, so secrets are not filled in there"
_URL_HINT = "send it in a header or a body, or use {name} with 'variables' for a value that is no secret"
_MALFORMED = "letters, digits and '_', such as ${API_KEY}; write $${ for a literal ${"


def find_secret_problems(task: Task) -> Iterator[Problem]:
    """Yield a problem for each `${` that names no secret, and for each secret in a URL."""
    for path, fetch in task.fetch_sections.items():
        yield from _malformed(f"{path}.headers", fetch.headers)
    for index, layer in enumerate(task.layers):
        yield from _malformed(f"layers[{index}]", layer.model_extra)
    for index, entry in enumerate(task.entry_urls):
        path = f"entry_urls[{index}]"
        if isinstance(entry, str):
            if OPENING in entry:
                yield from _in_url(path, entry, task.variables)
            continue
        if isinstance(entry, Entry):
            yield from _in_url(f"{path}.url", entry.url, {**task.variables, **entry.each})
        yield from _malformed(f"{path}.headers", entry.headers)
        yield from _malformed(f"{path}.body", entry.body)
    for name, page in task.page_types.items():
        prefix = f"pages.{name}." if name in task.pages else ""
        for index, follow in enumerate(page.follow):
            if follow.request is not None:
                path = f"{prefix}follow[{index}].request"
                yield from _malformed(f"{path}.headers", follow.request.headers)
                yield from _malformed(f"{path}.body", follow.request.body)


def _in_url(path: str, url: str, values: Mapping[str, Any]) -> Iterator[Problem]:
    for name in references_in(url):
        if name not in values:
            yield Problem(path, f"${{{name}}}: {_IN_A_URL}", _URL_HINT)


def _malformed(path: str, value: Any) -> Iterator[Problem]:
    match value:
        case str():
            found = malformed_reference(value)
            if found is not None:
                yield Problem(path, f"{found!r} is not the name of a secret", _MALFORMED)
        case dict():
            for key, each in value.items():
                yield from _malformed(f"{path}.{key}", each)
        case list():
            for index, each in enumerate(value):
                yield from _malformed(f"{path}[{index}]", each)
