"""The first requests of a run."""

from __future__ import annotations

import json

from smartspider.core.errors import Problem
from smartspider.core.request import Extras, Request, make_request
from smartspider.core.urls import CanonicalRules, normal_url
from smartspider.taskfile.model import Entry, Task
from smartspider.taskfile.problems import task_invalid


def entry_requests(task: Task, rules: CanonicalRules) -> tuple[Request, ...]:
    """The entries of the task, each distinct request once.

    Raises TaskInvalid when one request is asked for as two page types: it is fetched once, as one of them.
    """
    requests: dict[bytes, Request] = {}
    for index, entry in enumerate(task.entry_urls):
        request = _request(entry, task.fetch.method, rules)
        known = requests.setdefault(request.fingerprint, request)
        if known.page != request.page:
            reason = f"{request.url} is the same request as an entry with page type {known.page!r}"
            hint = "a request is fetched once in a run, with one page type"
            raise task_invalid([Problem(f"entry_urls[{index}].page", reason, hint)])
    return tuple(requests.values())


def _request(entry: str | Entry, method: str, rules: CanonicalRules) -> Request:
    if isinstance(entry, str):
        return make_request(_normal(entry), rules=rules, is_entry=True, extras=Extras(method=method))
    return make_request(
        _normal(entry.url),
        rules=rules,
        page=entry.page,
        priority=entry.priority,
        is_entry=True,
        extras=_extras(entry, method),
    )


def _normal(url: str) -> str:
    normal = normal_url(url)
    if normal is None:
        raise ValueError(f"{url} was not validated")
    return normal


def _extras(entry: Entry, method: str) -> Extras:
    headers = dict(entry.headers)
    body = entry.body.encode() if isinstance(entry.body, str) else None
    if isinstance(entry.body, (dict, list)):
        body = json.dumps(entry.body, ensure_ascii=False, separators=(",", ":")).encode()
        if not any(name.lower() == "content-type" for name in headers):
            headers["Content-Type"] = "application/json"
    return Extras(
        method=entry.method or method, headers=tuple(headers.items()), body=body, meta=dict(entry.meta)
    )
