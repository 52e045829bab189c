"""Dry runs of tasks and previews of pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import NotAllowed, NotFound, NotReadable, SmartSpiderError, TaskInvalid
from smartspider.core.runs.plan import Plan
from smartspider.installation.installation import Installation
from smartspider.services.preview.preview import Preview, require_public
from smartspider.services.preview.rules import build_task, parse_rules, result_warnings
from smartspider.services.tasks.checks import TaskSource, check_document, problems_of, read_task_source
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.views.preview import DryRun, PreviewView, SuggestionsView, TaskLook
from smartspider.views.problem import Wrong, wrongs
from smartspider.wiring.fetch_page import check_url
from smartspider.wiring.preview.previews import Previews

_API_HINTS: dict[type[SmartSpiderError], str] = {
    NotAllowed: "if you may read the page, give credentials in `headers`"
}


async def dry_run_task(
    installation: Installation, previews: Previews, principal: Principal, task: TaskSource, pages: int
) -> DryRun:
    """Validate a task, and with `pages` fetch and extract that many of its pages."""
    require(principal, "tasks", "write")
    try:
        checked = await check_document(installation, read_task_source(task), principal.name)
    except TaskInvalid as error:
        return DryRun(valid=False, errors=wrongs(problems_of(error)), warnings=[])
    warnings = wrongs(checked.warnings)
    if not pages:
        return DryRun(valid=True, errors=[], warnings=warnings)
    if checked.missing:
        why = "no page was fetched, because this version cannot run the task yet"
        return DryRun(valid=True, errors=[], warnings=[*warnings, Wrong("", why)], preview=[])
    plan = await installation.offload.run(_plan, checked.spec.spec, holder=principal.name)
    _refuse_private(installation, [entry.url for entry in plan.entries])
    for what in plan.overrides:
        detail = {"what": what, "task": plan.name}
        await installation.audit.append(principal.name, "politeness.overridden", "preview", detail)
    preview = await previews.preview_task(checked.spec.spec, pages, principal.name)
    require_public(preview)
    look = preview_view(preview)
    return DryRun(valid=True, errors=[], warnings=warnings, preview=look.rows, look=look)


async def preview_page(
    installation: Installation,
    previews: Previews,
    principal: Principal,
    url: str,
    *,
    given: Mapping[str, Any],
    page_type: str,
) -> PreviewView:
    """Fetch a page and extract it with the given rules."""
    require(principal, "tasks", "write")
    _refuse_private(installation, [check_url(url)])
    task = build_task(url, parse_rules(given), page_type)
    checked = await check_document(installation, task, principal.name)
    if checked.missing:
        raise TaskInvalid(
            f"{checked.missing[0].path}: {checked.missing[0].message}",
            tuple(checked.missing),
            hint=checked.missing[0].hint,
        )
    found = await previews.preview_page(url, task, principal.name)
    result = msgspec.to_builtins(found.result)
    return msgspec.convert(
        {
            "url": found.url,
            "status": found.status,
            "warnings": result_warnings(found.status, found.result),
            **result,
        },
        PreviewView,
    )


async def suggest_tasks(
    installation: Installation, previews: Previews, principal: Principal, url: str, headers: Mapping[str, str]
) -> SuggestionsView:
    """Fetch a page and suggest tasks for its lists."""
    require(principal, "tasks", "write")
    normal = check_url(url)
    _refuse_private(installation, [normal])
    task: dict[str, Any] = {"name": "suggest", "entry_urls": [{"urls": [normal]}]}
    if headers:
        task["fetch"] = {"headers": dict(headers)}
    await check_document(installation, task, principal.name)
    try:
        return await previews.suggest(url, task, principal.name)
    except (NotFound, NotAllowed) as error:  # it is the page that is not there, not what was asked for
        raise NotReadable(error.message, hint=_API_HINTS.get(type(error), error.hint)) from error


def preview_view(preview: Preview) -> TaskLook:
    """Return the view of a preview."""
    return msgspec.convert(msgspec.to_builtins(preview), TaskLook)


def _refuse_private(installation: Installation, urls: Sequence[str]) -> None:
    """Refuse URLs that are private by their text; names are checked when they are resolved."""
    policy = installation.policy
    for url in urls:
        refusal = policy.refuse_url(url)
        if refusal is not None:
            raise refusal


def _plan(spec: bytes) -> Plan:
    return compile_task(parse_task(msgspec.json.decode(spec)))
