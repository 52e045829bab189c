"""Checks of a task's entries: their templates, values and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from math import prod
from typing import Any

from smartspider.core.errors import Problem
from smartspider.core.requests.scope import TrapGuards
from smartspider.core.requests.templates import fill_url, placeholders_in
from smartspider.core.requests.urls import authority_of
from smartspider.taskfile.keys import did_you_mean, nearest
from smartspider.taskfile.model.entries import EachForm, Entry, EntryFile, EntryList, EntryOptions, Range
from smartspider.taskfile.model.task import Task
from smartspider.taskfile.model.values import check_url
from smartspider.taskfile.problems import format_value

MAX_ENTRIES = 1_000_000
_MAX_CHECKED = 100
"""Number of combinations per entry whose URLs are checked before compilation."""


def find_entry_problems(task: Task) -> Iterator[Problem]:
    """Yield the problems of the entries' templates and values."""
    total = 0
    for index, entry in enumerate(task.entry_urls):
        path = f"entry_urls[{index}]"
        total += _request_count(entry)
        if total > MAX_ENTRIES:
            reason = f"the entries make {total:,} requests, more than {MAX_ENTRIES:,}"
            place = f"{path}.each" if isinstance(entry, Entry) else path
            yield Problem(place, reason, "split the task, or let pagination and follow find the rest")
            return
        if isinstance(entry, EntryFile):
            yield Problem(f"{path}.file", _NO_FILE, 'send the URLs themselves, as {"urls": [...]}')
        elif isinstance(entry, EntryList):
            yield from _list_problems(path, entry, longest_url(task))
        elif not isinstance(entry, str):
            yield from _template_problems(index, entry, task)
        elif "{" in entry:
            yield from _template_problems(index, Entry(url=entry), task)
        elif len(entry) > longest_url(task):
            yield _too_long(path, entry, longest_url(task))


_NO_FILE = "only commands that read a local task file (crawl, dry-run, validate, task apply) read files"


def combinations(entry: Entry, task: Task) -> Iterator[dict[str, Any]]:
    """Yield the template values of each request of an entry; `each` takes precedence over `variables`."""
    for values in product(*map(_values, entry.each.values())):
        yield {**task.variables, **dict(zip(entry.each, values, strict=True))}


def longest_url(task: Task) -> int:
    """Return the maximum length of an entry URL: a trap limit below the default is about links."""
    return max(task.traps.max_url_length, TrapGuards().max_url_length)


def url_problem(index: int, task: Task, values: dict[str, Any]) -> Problem | None:
    """Return the problem of the URL that an entry makes of template values, or None."""
    entry = task.entry_urls[index]
    template = entry.url if isinstance(entry, Entry) else str(entry)
    url = fill_url(template, values)
    invalid = check_url(url)
    if invalid is None and len(url) > longest_url(task):
        return _too_long(_place_of(index, entry), url, longest_url(task))
    if invalid is None and any(True for _ in placeholders_in(authority_of(url.lstrip()))):
        invalid = "has an undefined name in its host", "define it in variables"
    if invalid is None:
        return None
    made = "" if url == template else f", made from {format_value(template)},"
    return Problem(_place_of(index, entry), f"{format_value(url)}{made} {invalid[0]}", invalid[1])


def _place_of(index: int, entry: object) -> str:
    return f"entry_urls[{index}].url" if isinstance(entry, Entry) else f"entry_urls[{index}]"


def _too_long(place: str, url: str, max_length: int) -> Problem:
    reason = f"has {len(url):,} characters, more than {max_length:,}"
    return Problem(place, f"{format_value(url)} {reason}", "raise traps.max_url_length if the URL is right")


def _request_count(entry: str | EntryOptions) -> int:
    if isinstance(entry, EntryList):
        return len(entry.urls)
    return prod(map(_count, entry.each.values())) if isinstance(entry, Entry) else 1


def _list_problems(path: str, entry: EntryList, max_length: int) -> Iterator[Problem]:
    yield from _form_problems(path, entry)
    for number, url in enumerate(entry.urls):
        if len(url) > max_length:
            yield _too_long(f"{path}.urls[{number}]", url, max_length)
    for name, values in entry.values.items():
        if len(values) != len(entry.urls):
            reason = f"there are {len(values):,} values for {len(entry.urls):,} URLs"
            yield Problem(f"{path}.values.{name}", reason, "give one value per URL, in the same order")


def _template_problems(index: int, entry: Entry, task: Task) -> Iterator[Problem]:
    path, written = f"entry_urls[{index}]", task.entry_urls[index]
    problems = [
        *_form_problems(path, entry),
        *_each_problems(path, entry),
        *_name_problems(path if isinstance(written, str) else f"{path}.url", entry, task),
    ]
    yield from problems
    if not problems:
        checked = islice(combinations(entry, task), _MAX_CHECKED)
        found = (url_problem(index, task, values) for values in checked)
        yield from islice(filter(None, found), 1)


def _form_problems(path: str, entry: EntryOptions) -> Iterator[Problem]:
    if entry.graphql is not None and entry.body is not None:
        yield Problem(f"{path}.body", "the entry has a body and a GraphQL query", "remove one of them")
    if entry.graphql is not None and entry.method not in (None, "POST"):
        yield Problem(f"{path}.method", f"a GraphQL query is sent by POST, not {entry.method}", "remove it")


def _each_problems(path: str, entry: Entry) -> Iterator[Problem]:
    variables = entry.graphql.variables if entry.graphql else {}
    used = {*placeholders_in(entry.url), *placeholders_in(entry.body), *placeholders_in(variables)}
    for name, values in entry.each.items():
        if isinstance(values, Range) and not _count(values):
            reason = f"the range from {values.start} to {values.stop} is empty"
            yield Problem(f"{path}.each.{name}", reason, "'to' is the last number, inclusive")
        if name not in used:
            reason = f"{{{name}}} is used neither in the URL nor in the body, so all requests would be equal"
            yield Problem(f"{path}.each.{name}", reason, f"use {{{name}}} where the values belong")


def _name_problems(place: str, entry: Entry, task: Task) -> Iterator[Problem]:
    known = [*entry.each, *task.variables]
    for name in placeholders_in(entry.url) if known else ():
        if name not in known:
            near = nearest(name, known)
            hint = did_you_mean(near) if near else f"known: {', '.join(known)}"
            yield Problem(place, f"there is no variable {name!r}", hint)


def _values(each: EachForm) -> range | list[str | int | float]:
    return range(each.start, each.stop + 1, each.step) if isinstance(each, Range) else each


def _count(each: EachForm) -> int:
    return len(_values(each))
