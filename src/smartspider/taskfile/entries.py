"""Entry requests of a run: each entry, for every combination of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import Any

from smartspider.core.errors import Problem
from smartspider.core.requests.bodies import FORM, JSON, json_body, media_type_of, with_content_type
from smartspider.core.requests.request import Extras, Request, make_request
from smartspider.core.requests.templates import (
    fill_form,
    fill_header,
    fill_json,
    fill_text,
    fill_url,
    placeholders_in,
)
from smartspider.core.requests.urls import CanonicalRules, authority_of, normal_url
from smartspider.taskfile.keys import did_you_mean, nearest
from smartspider.taskfile.model.task import EachForm, Entry, Range, Task
from smartspider.taskfile.model.values import check_url
from smartspider.taskfile.problems import format_value, task_invalid

MAX_ENTRIES = 1_000_000
_MAX_CHECKED = 100
"""Number of combinations per entry whose URLs are checked before compilation."""


def entry_requests(task: Task, rules: CanonicalRules) -> tuple[Request, ...]:
    """Return the distinct requests of the task's entries.

    Raise `TaskInvalid` if a generated URL is invalid, or if the same request has two page types: a request
    is fetched once in a run.
    """
    requests: dict[bytes, Request] = {}
    for index, entry in enumerate(task.entry_urls):
        for request in _expand(index, entry, task, rules):
            known = requests.setdefault(request.fingerprint, request)
            if known.page != request.page:
                reason = f"{request.url} is the same request as an entry with page type {known.page!r}"
                hint = "a request is fetched once in a run, with one page type"
                raise task_invalid([Problem(f"entry_urls[{index}].page", reason, hint)])
    return tuple(requests.values())


def find_entry_problems(task: Task) -> Iterator[Problem]:
    """Yield the problems of the entries' templates and values."""
    total = 0
    for index, entry in enumerate(task.entry_urls):
        path = f"entry_urls[{index}]"
        problems = [*_form_problems(path, _as_entry(entry)), *_name_problems(path, entry, task)]
        yield from problems
        total += prod(map(_count, _as_entry(entry).each.values()))
        if total > MAX_ENTRIES:
            reason = f"the entries make {total:,} requests, more than {MAX_ENTRIES:,}"
            yield Problem(
                f"{path}.each", reason, "split the task, or let pagination and follow find the rest"
            )
            return
        if not problems:
            checked = islice(_combinations(entry, task), _MAX_CHECKED)
            problems_found = (_url_problem(index, entry, values) for values in checked)
            yield from islice(filter(None, problems_found), 1)


def _form_problems(path: str, entry: Entry) -> Iterator[Problem]:
    if entry.graphql is not None and entry.body is not None:
        yield Problem(f"{path}.body", "the entry has a body and a GraphQL query", "remove one of them")
    if entry.graphql is not None and entry.method not in (None, "POST"):
        yield Problem(f"{path}.method", f"a GraphQL query is sent by POST, not {entry.method}", "remove it")
    for name, values in entry.each.items():
        if not _count(values):
            reason = f"the range from {values.start} to {values.stop} is empty"  # type: ignore[union-attr] # only a range can be empty
            yield Problem(f"{path}.each.{name}", reason, "'to' is the last number, inclusive")


def _name_problems(path: str, entry: str | Entry, task: Task) -> Iterator[Problem]:
    whole = _as_entry(entry)
    variables = whole.graphql.variables if whole.graphql else {}
    used = {*placeholders_in(whole.url), *placeholders_in(whole.body), *placeholders_in(variables)}
    for name in whole.each:
        if name not in used:
            reason = f"{{{name}}} is used neither in the URL nor in the body, so all requests would be equal"
            yield Problem(f"{path}.each.{name}", reason, f"use {{{name}}} where the values belong")
    known = [*whole.each, *task.variables]
    if known:
        place = path if isinstance(entry, str) else f"{path}.url"
        for name in placeholders_in(whole.url):
            if name not in known:
                near = nearest(name, known)
                hint = did_you_mean(near) if near else f"known: {', '.join(known)}"
                yield Problem(place, f"there is no variable {name!r}", hint)


def _url_problem(index: int, entry: str | Entry, values: dict[str, Any]) -> Problem | None:
    template = entry if isinstance(entry, str) else entry.url
    url = fill_url(template, values)
    invalid = check_url(url)
    if invalid is None and any(True for _ in placeholders_in(authority_of(url.lstrip()))):
        invalid = "has an undefined name in its host", "define it in variables"
    if invalid is None:
        return None
    place = f"entry_urls[{index}]" if isinstance(entry, str) else f"entry_urls[{index}].url"
    made = "" if url == template else f", made from {format_value(template)},"
    return Problem(place, f"{format_value(url)}{made} {invalid[0]}", invalid[1])


def _combinations(entry: str | Entry, task: Task) -> Iterator[dict[str, Any]]:
    """Yield the template values of each request of an entry; `each` takes precedence over `variables`."""
    each = {} if isinstance(entry, str) else entry.each
    for values in product(*map(_values, each.values())):
        yield {**task.variables, **dict(zip(each, values, strict=True))}


def _values(each: EachForm) -> range | list[str | int | float]:
    return range(each.start, each.stop + 1, each.step) if isinstance(each, Range) else each


def _count(each: EachForm) -> int:
    return len(_values(each))


def _as_entry(entry: str | Entry) -> Entry:
    return Entry(url=entry) if isinstance(entry, str) else entry


def _expand(index: int, entry: str | Entry, task: Task, rules: CanonicalRules) -> Iterator[Request]:
    """Yield the requests of an entry. Parts that do not vary are built once."""
    whole = _as_entry(entry)
    variables = whole.graphql.variables if whole.graphql else None
    differs = any(True for _ in placeholders_in([whole.headers, whole.body, variables, whole.meta]))
    same = None if differs else _extras(whole, task.variables, task.fetch.method)
    for values in _combinations(entry, task):
        url = normal_url(fill_url(whole.url, values))
        if url is None or "{" in url:
            invalid = _url_problem(index, entry, values)
            if invalid is not None:
                raise task_invalid([invalid])
        yield make_request(
            url or "",
            rules=rules,
            page=whole.page,
            priority=whole.priority,
            is_entry=True,
            extras=same or _extras(whole, values, task.fetch.method),
        )


def _extras(entry: Entry, values: Mapping[str, Any], method: str) -> Extras:
    headers = tuple((name, fill_header(text, values)) for name, text in entry.headers.items())
    meta = fill_json(entry.meta, values) if values else dict(entry.meta)
    body: bytes | None = None
    if entry.graphql is not None:
        query = {"query": entry.graphql.query, "variables": fill_json(entry.graphql.variables, values)}
        operation = {"operationName": entry.graphql.operation} if entry.graphql.operation else {}
        return Extras("POST", with_content_type(JSON, headers), json_body({**query, **operation}), meta)
    if isinstance(entry.body, str):
        fill = fill_form if media_type_of(headers) == FORM else fill_text
        body = fill(entry.body, values).encode(errors="replace")
    elif entry.body is not None:
        body = json_body(fill_json(entry.body, values))
        headers = with_content_type(JSON, headers)
    if body is not None and method == "GET":
        method = "POST"
    return Extras(entry.method or method, headers, body, meta)
