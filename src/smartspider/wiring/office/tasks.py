"""Tasks of a data folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from smartspider.core.errors import NotFound
from smartspider.core.tasks import TaskRecord
from smartspider.services import task_views, tasks
from smartspider.services.tasks import Applied
from smartspider.views.listed import Listed
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView
from smartspider.wiring.office.seat import Seat, page_of, place_of


class TaskOffice(Seat):
    """Tasks, by their id or their name. Words and answers are those of the API."""

    async def create_task(self, task: Mapping[str, Any], *, note: str = "") -> TaskSaved:
        """Keep a new task."""
        from smartspider.services.checking import check_document

        checked = await check_document(task)
        applied = await tasks.create(self.folder.tasks, checked.spec, self.principal, note)
        await self._follow(applied)
        return task_views.saved(applied, checked.missing)

    async def change_task(self, task_id: str, task: Mapping[str, Any], *, note: str = "") -> TaskSaved:
        """A new version, or the old one when nothing changed."""
        from smartspider.services.checking import check_document

        checked = await check_document(task)
        old = await self._task(task_id)
        applied = await tasks.change(self.folder.tasks, old, checked.spec, self.principal, note=note)
        await self._follow(applied)
        return task_views.saved(applied, checked.missing)

    async def list_tasks(
        self, *, name: str = "", limit: int = 100, cursor: str | None = None
    ) -> Listed[TaskLine]:
        """Tasks in the order they were created; with `name`, those whose names begin so."""
        store = self.folder.tasks
        if name:
            found = await store.find_named(name, after=cursor or "", limit=limit + 1)
            return page_of(found, limit, lambda task: task.name, task_views.line)
        found = await store.find(after=place_of(cursor) or 0, limit=limit + 1)
        return page_of(found, limit, lambda task: task.id, task_views.line)

    async def get_task(self, task_id: str) -> TaskView:
        """The newest version of a task, and its newest run."""
        task = await self._task(task_id)
        version = await self.folder.tasks.version(task.id, task.version)
        runs = await self.folder.store.list_runs(task_id=task.id, limit=1)
        return task_views.whole(task, version, runs[0] if runs else None)

    async def delete_task(self, task_id: str) -> None:
        """Delete a task. Its unfinished runs are cancelled, for nothing goes on with them here."""
        from smartspider.wiring.deleting import delete_task

        await delete_task(self.folder, await self._task(task_id))

    async def list_task_versions(
        self, task_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> Listed[VersionLine]:
        """Versions, newest first, each with what it changed."""
        task = await self._task(task_id, or_deleted=True)
        found = await tasks.history(self.folder.tasks, task, before=place_of(cursor), limit=limit + 1)
        shown = partial(task_views.version_line, task)
        return page_of(found, limit, lambda one: one.version.number, shown)

    async def get_task_version(self, task_id: str, number: int) -> VersionView:
        """One version, with the task as it was."""
        task = await self._task(task_id, or_deleted=True)
        return task_views.version_view(task, await tasks.revision(self.folder.tasks, task, number))

    async def _task(self, task_id: str, *, or_deleted: bool = False) -> TaskRecord:
        try:
            return await tasks.find_task(self.folder.tasks, task_id, or_deleted=or_deleted)
        except NotFound as error:
            raise NotFound(error.message, hint="`smartspider task list` shows the tasks there are") from None

    async def _follow(self, applied: Applied) -> None:
        """Make the schedule of a task what the task says."""
        from smartspider.services.schedules import follow_task
        from smartspider.wiring.timetable import timetable_of

        table = timetable_of(self.folder, self.settings)
        await follow_task(table, applied.task.id, actor=self.principal.name)
