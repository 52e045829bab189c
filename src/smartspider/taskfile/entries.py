"""Entry requests of a run: each entry, for every combination of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from smartspider.core.errors import Problem
from smartspider.core.requests.bodies import FORM, JSON, json_body, media_type_of, with_content_type
from smartspider.core.requests.request import (
    DEFAULT_PAGE,
    Extras,
    Request,
    make_request,
    request_identity,
    variant_of,
)
from smartspider.core.requests.templates import (
    fill_body,
    fill_form,
    fill_header,
    fill_json,
    fill_json_body,
    fill_url,
    placeholders_in,
)
from smartspider.core.requests.urls import (
    CanonicalRules,
    canonical_url,
    may_have_session_id,
    normal_url,
    rules_for,
)
from smartspider.taskfile.entry_checks import combinations, longest_url, url_problem
from smartspider.taskfile.model.entries import Entry, EntryFile, EntryList, EntryOptions
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.problems import task_invalid


def entry_requests(task: Task, rules: CanonicalRules) -> tuple[Request, ...]:
    """Return the distinct requests of the task's entries.

    Raise `TaskInvalid` if a generated URL is invalid, or if the same request has two page types: a request
    is fetched once in a run. Entries that differ by headers or `meta` are requests of their own.
    """
    requests: dict[bytes, Request] = {}
    for index, request in _all_requests(task, rules):
        known = requests.setdefault(request.fingerprint, request)
        if known is not request and _own_parts(known) != _own_parts(request):
            request = _variant(request, rules)  # noqa: PLW2901 - the same entry, told apart from the first
            known = requests.setdefault(request.fingerprint, request)
        if known.page != request.page:
            reason = f"{request.url} is the same request as an entry with page type {known.page!r}"
            hint = "a request is fetched once in a run, with one page type"
            raise task_invalid([Problem(f"entry_urls[{index}].page", reason, hint)])
    return tuple(requests.values())


def entry_rules(task: Task, rules: CanonicalRules) -> CanonicalRules:
    """Return the rules by which entries that a task tells apart by `sid` alone are not the same."""
    if not any(map(may_have_session_id, _written_urls(task))):
        return rules
    return rules_for(((request.url, None) for _, request in _all_requests(task, rules)), rules)


def _written_urls(task: Task) -> Iterator[str]:
    for entry in task.entry_urls:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, EntryList):
            yield from entry.urls
        elif isinstance(entry, Entry):
            yield entry.url


def _own_parts(request: Request) -> tuple[object, ...]:
    extras = request.extras
    return sorted((name.lower(), value) for name, value in extras.headers), extras.meta


def _variant(request: Request, rules: CanonicalRules) -> Request:
    """Return the request with an identity of its own. Only entries that differ by headers or `meta` from an
    earlier one have it: what pages link to is the same request as the first of them.
    """
    extras = request.extras
    extras = msgspec.structs.replace(extras, variant=variant_of(extras.headers, extras.meta))
    identity = request_identity(canonical_url(request.url, rules), page=request.page, extras=extras)
    return msgspec.structs.replace(request, fingerprint=identity, extras=extras)


def _all_requests(task: Task, rules: CanonicalRules) -> Iterator[tuple[int, Request]]:
    """Yield the requests of all entries with the number of their entry."""
    plain = Extras(task.entry_method(DEFAULT_PAGE))
    for index, entry in enumerate(task.entry_urls):
        if isinstance(entry, str) and "{" not in entry:  # up to a million of them, so no steps in between
            yield index, make_request(normal_url(entry) or "", rules=rules, is_entry=True, extras=plain)
        elif isinstance(entry, EntryList):
            for request in _list_requests(entry, task, rules):
                yield index, request
        elif not isinstance(entry, EntryFile):
            whole = Entry(url=entry) if isinstance(entry, str) else entry
            for request in _expand(index, whole, task, rules):
                yield index, request


def _list_requests(entry: EntryList, task: Task, rules: CanonicalRules) -> Iterator[Request]:
    """Yield a request for each URL of a list."""
    same = _same_extras(entry, task)
    rows = zip(*entry.values.values(), strict=True) if entry.values else ((),) * len(entry.urls)
    for url, row in zip(entry.urls, rows, strict=True):
        values = {} if same else {**task.variables, **dict(zip(entry.values, row, strict=True))}
        yield make_request(
            normal_url(url) or "",
            rules=rules,
            page=entry.page,
            priority=entry.priority,
            is_entry=True,
            extras=same or _extras(entry, values, task),
        )


def _expand(index: int, entry: Entry, task: Task, rules: CanonicalRules) -> Iterator[Request]:
    """Yield the requests of an entry. Parts that do not vary are built once."""
    same = _same_extras(entry, task)
    for values in combinations(entry, task):
        url = normal_url(fill_url(entry.url, values))
        if url is None or "{" in url or len(url) > longest_url(task):
            invalid = url_problem(index, task, values)
            if invalid is not None:
                raise task_invalid([invalid])
        yield make_request(
            url or "",
            rules=rules,
            page=entry.page,
            priority=entry.priority,
            is_entry=True,
            extras=same or _extras(entry, values, task),
        )


def _same_extras(entry: EntryOptions, task: Task) -> Extras | None:
    """Return the extras that all requests of an entry share, or None if they differ."""
    variables = entry.graphql.variables if entry.graphql else None
    differs = any(True for _ in placeholders_in([entry.headers, entry.body, variables, entry.meta]))
    return None if differs else _extras(entry, task.variables, task)


def _extras(entry: EntryOptions, values: Mapping[str, Any], task: Task) -> Extras:
    headers = tuple((name, fill_header(text, values)) for name, text in entry.headers.items())
    meta = fill_json(entry.meta, values) if values else dict(entry.meta)
    body: bytes | None = None
    method = task.entry_method(entry.page)
    if entry.graphql is not None:
        query = {"query": entry.graphql.query, "variables": fill_json_body(entry.graphql.variables, values)}
        operation = {"operationName": entry.graphql.operation} if entry.graphql.operation else {}
        return Extras("POST", with_content_type(JSON, headers), json_body({**query, **operation}), meta)
    if isinstance(entry.body, str):
        fill = fill_form if media_type_of(headers) == FORM else fill_body
        body = fill(entry.body, values).encode(errors="replace")
    elif entry.body is not None:
        body = json_body(fill_json_body(entry.body, values))
        headers = with_content_type(JSON, headers)
    if body is not None and method == "GET":
        method = "POST"
    return Extras(entry.method or method, headers, body, meta)
