"""Keeping what somebody wrote: the task, and the schedule that stands in it."""

from __future__ import annotations

from smartspider.core.access import Principal
from smartspider.core.tasks import TaskRecord
from smartspider.services import task_views, tasks
from smartspider.services.checking import Checked
from smartspider.services.schedules import follow_task
from smartspider.services.tasks import Applied
from smartspider.services.timetable import Timetable
from smartspider.views.tasks import TaskSaved


async def create(table: Timetable, principal: Principal, checked: Checked, note: str = "") -> TaskSaved:
    """A new task, which belongs to who made it."""
    applied = await tasks.create(table.tasks, checked.spec, principal, note)
    return await _saved(table, principal, applied, checked)


async def change(
    table: Timetable,
    principal: Principal,
    task: TaskRecord,
    checked: Checked,
    *,
    expected: int | None = None,
    note: str = "",
) -> TaskSaved:
    """Another version of a task, unless it is the same; `Outdated` when it is not what was expected."""
    applied = await tasks.change(table.tasks, task, checked.spec, principal, expected=expected, note=note)
    return await _saved(table, principal, applied, checked)


async def _saved(table: Timetable, principal: Principal, applied: Applied, checked: Checked) -> TaskSaved:
    await follow_task(table, applied.task.id, actor=principal.name)
    return task_views.saved(applied, checked.warnings)
