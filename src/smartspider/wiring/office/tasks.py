"""Tasks of a data folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smartspider.core.errors import NotFound
from smartspider.core.tasks import TaskRecord
from smartspider.services import task_views, tasks
from smartspider.views.listed import Listed
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView
from smartspider.wiring.office.seat import Seat


class TaskOffice(Seat):
    """Tasks, by their id or their name. Words and answers are those of the API."""

    async def create_task(self, task: Mapping[str, Any], *, note: str = "") -> TaskSaved:
        """Keep a new task."""
        from smartspider.services import saving
        from smartspider.services.checking import check_document

        return await saving.create(self.table, self.principal, await check_document(task), note)

    async def change_task(self, task_id: str, task: Mapping[str, Any], *, note: str = "") -> TaskSaved:
        """A new version, or the old one when nothing changed."""
        from smartspider.services import saving
        from smartspider.services.checking import check_document

        checked = await check_document(task)
        old = await self._task(task_id)
        return await saving.change(self.table, self.principal, old, checked, note=note)

    async def list_tasks(
        self, *, name: str = "", limit: int = 100, cursor: str | None = None
    ) -> Listed[TaskLine]:
        """Tasks in the order they were created; with `name`, those whose names begin so."""
        return await task_views.list_tasks(self.premises.tasks, name, cursor=cursor, limit=limit)

    async def get_task(self, task_id: str) -> TaskView:
        """The newest version of a task, and its newest run."""
        task = await self._task(task_id)
        return await task_views.show(self.premises.tasks, self.premises.store, self.principal, task)

    async def delete_task(self, task_id: str) -> None:
        """Delete a task. Its unfinished runs are cancelled, for nothing goes on with them here."""
        from smartspider.wiring.deleting import delete_task

        await delete_task(self.premises, await self._task(task_id))

    async def list_task_versions(
        self, task_id: str, *, limit: int = 20, cursor: str | None = None
    ) -> Listed[VersionLine]:
        """Versions, newest first, each with what it changed."""
        task = await self._task(task_id, or_deleted=True)
        return await task_views.list_versions(
            self.premises.tasks, self.principal, task, cursor=cursor, limit=limit
        )

    async def get_task_version(self, task_id: str, number: int) -> VersionView:
        """One version, with the task as it was."""
        task = await self._task(task_id, or_deleted=True)
        return await task_views.show_version(self.premises.tasks, self.principal, task, number)

    async def _task(self, task_id: str, *, or_deleted: bool = False) -> TaskRecord:
        try:
            return await tasks.find_task(self.premises.tasks, task_id, or_deleted=or_deleted)
        except NotFound as error:
            raise NotFound(error.message, hint="`smartspider task list` shows the tasks there are") from None
