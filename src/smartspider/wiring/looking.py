"""Looks at tasks and pages, for whoever asks the API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import TaskInvalid
from smartspider.core.plan import Plan
from smartspider.services.checking import check_document, problems_of
from smartspider.services.preview import Preview, require_public
from smartspider.services.trying import rules_from, task_from, warnings_of
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.views.preview import DryRun, PreviewView, TaskLook
from smartspider.views.problem import Wrong, wrongs
from smartspider.wiring.addresses import server_policy
from smartspider.wiring.fetch_one import checked_url

if TYPE_CHECKING:
    from smartspider.wiring.house import House


async def dry_run(house: House, principal: Principal, document: Callable[[], object], pages: int) -> DryRun:
    """Whether a task is valid, and what its first pages give; none are fetched unless some are asked for."""
    require(principal, "tasks", "write")
    try:
        checked = await check_document(document())
    except TaskInvalid as error:
        return DryRun(valid=False, errors=wrongs(problems_of(error)), warnings=[])
    warnings = wrongs(checked.warnings)
    if not pages:
        return DryRun(valid=True, errors=[], warnings=warnings)
    if checked.missing:
        why = "nothing was fetched, because this version cannot run the task yet"
        return DryRun(valid=True, errors=[], warnings=[*warnings, Wrong("", why)], preview=[])
    plan = await asyncio.to_thread(_plan, checked.spec.spec)
    _refuse_private(house, [entry.url for entry in plan.entries])
    for what in plan.overrides:
        detail = {"what": what, "task": plan.name}
        await house.premises.audit.append(principal.name, "politeness.overridden", "preview", detail)
    preview = await house.previews.of_task(house.premises, house.settings, checked.spec.spec, pages)
    require_public(preview)
    look = told(preview)
    return DryRun(valid=True, errors=[], warnings=warnings, preview=look.rows, look=look)


async def look_at_page(
    house: House, principal: Principal, url: str, given: Mapping[str, Any], page_type: str
) -> PreviewView:
    """What rules find on a page."""
    require(principal, "tasks", "write")
    _refuse_private(house, [checked_url(url)])
    task = task_from(url, rules_from(given), page_type)
    checked = await check_document(task)
    if checked.missing:
        raise TaskInvalid(
            f"{checked.missing[0].path}: {checked.missing[0].message}",
            tuple(checked.missing),
            hint=checked.missing[0].hint,
        )
    seen = await house.previews.of_page(house.premises, house.settings, url, task)
    tried = msgspec.to_builtins(seen.tried)
    return msgspec.convert(
        {"url": seen.url, "status": seen.status, "warnings": warnings_of(seen.status, seen.tried), **tried},
        PreviewView,
    )


def told(preview: Preview) -> TaskLook:
    """A preview as it is told."""
    return msgspec.convert(msgspec.to_builtins(preview), TaskLook)


def _refuse_private(house: House, urls: Sequence[str]) -> None:
    """What the text of a URL tells is said at once; the rest is refused where it is fetched."""
    policy = server_policy(house.settings)
    for url in urls:
        refusal = policy.refuse_url(url)
        if refusal is not None:
            raise refusal


def _plan(spec: bytes) -> Plan:
    return compile_task(parse_task(msgspec.json.decode(spec)))
