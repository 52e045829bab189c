"""Keeping what somebody wrote: the task, and the schedule that stands in it."""

from __future__ import annotations

from smartspider.core.access import Principal
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.services.schedules.schedules import follow_task
from smartspider.services.tasks import tasks, views
from smartspider.services.tasks.checking import Checked
from smartspider.services.tasks.tasks import Applied
from smartspider.views.tasks import TaskSaved


async def create(
    installation: Installation, principal: Principal, checked: Checked, note: str = ""
) -> TaskSaved:
    """A new task, which belongs to who made it."""
    applied = await tasks.create(installation.tasks, checked.spec, principal, note)
    return await _saved(installation, principal, applied, checked)


async def change(
    installation: Installation,
    principal: Principal,
    task: TaskRecord,
    checked: Checked,
    *,
    expected: int | None = None,
    note: str = "",
) -> TaskSaved:
    """Another version of a task, unless it is the same; `Outdated` when it is not what was expected."""
    applied = await tasks.change(
        installation.tasks, task, checked.spec, principal, expected=expected, note=note
    )
    return await _saved(installation, principal, applied, checked)


async def _saved(
    installation: Installation, principal: Principal, applied: Applied, checked: Checked
) -> TaskSaved:
    await follow_task(installation, applied.task.id, actor=principal.name)
    return views.saved(applied, checked.warnings)
