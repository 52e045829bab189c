"""Save tasks together with the schedules they define."""

from __future__ import annotations

from smartspider.core.access import Principal
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.services.quotas import check_quota
from smartspider.services.schedules.schedules import sync_task_schedule
from smartspider.services.tasks import tasks, views
from smartspider.services.tasks.checks import CheckedTask
from smartspider.services.tasks.tasks import Applied
from smartspider.views.tasks import TaskSaved


async def create(
    installation: Installation, principal: Principal, checked: CheckedTask, note: str = ""
) -> TaskSaved:
    """Create a task, owned by the principal."""
    await check_quota(installation, principal, "tasks")
    applied = await tasks.create(installation.tasks, checked.spec, principal, note)
    return await _saved(installation, principal, applied, checked)


async def change(
    installation: Installation,
    principal: Principal,
    task: TaskRecord,
    checked: CheckedTask,
    *,
    expected: int | None = None,
    note: str = "",
) -> TaskSaved:
    """Save a new version of a task if it differs; raise `Outdated` if `expected` is not the
    newest version.
    """
    applied = await tasks.change(
        installation.tasks, task, checked.spec, principal, expected=expected, note=note
    )
    return await _saved(installation, principal, applied, checked)


async def _saved(
    installation: Installation, principal: Principal, applied: Applied, checked: CheckedTask
) -> TaskSaved:
    await sync_task_schedule(installation, applied.task.id, actor=principal.name)
    return views.saved(applied, checked.warnings)
