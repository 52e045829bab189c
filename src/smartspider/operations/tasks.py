"""Tasks and their versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Unpack, overload

import msgspec

from smartspider.core.tasks import MAX_NOTE
from smartspider.operations.operation import Operations, Replay, operation
from smartspider.views.arguments import TaskArguments
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, IdempotencyKey, IfMatch, Limit, Param, TaskId, query
from smartspider.views.preview import DryRun
from smartspider.views.tasks import TaskLine, TaskSaved, TaskView, VersionLine, VersionView

MAX_PREVIEW_PAGES = 20
TaskText = Mapping[str, Any] | str | bytes | msgspec.Raw
"""A task: its keys and values, or the text of a task file (JSON or YAML)."""
TaskBody = Annotated[TaskText, Param(place="body")]
Note = Annotated[str, query("A note about this version.", max_length=MAX_NOTE)]

SAVED = {
    "id": "1",
    "task_id": "1",
    "name": "shop_prices",
    "version": 1,
    "status": "created",
    "changes": [],
    "warnings": [],
}
CHANGED = {
    **SAVED,
    "version": 2,
    "status": "changed",
    "changes": [{"kind": "changed", "path": "concurrency", "before": 8, "after": 16}],
}
DRY_RUN = {"valid": True, "errors": [], "warnings": [], "preview": [{"title": "Tea"}]}


class TaskOperations(Operations):
    """Tasks: task files with all their versions. A task is named by its id or its name."""

    @overload
    async def create_task(
        self,
        task: TaskText,
        *,
        dry_run: Literal[False] = False,
        note: str = "",
        idempotency_key: str | None = None,
    ) -> TaskSaved: ...
    @overload
    async def create_task(
        self, task: TaskText, *, dry_run: Literal[True], preview: bool = False, pages: int = 3
    ) -> DryRun: ...
    @operation(
        "POST",
        "/api/tasks",
        needs=("tasks", "write"),
        summary="Create a task",
        answer="The task is created",
        status=201,
        example=SAVED,
        location="/api/tasks/{id}",
        etag="version",
        also={200: (DryRun, "The result of the dry run, even if the task is invalid", DRY_RUN)},
        replay=Replay(),
    )
    async def create_task(
        self,
        task: TaskBody,
        *,
        dry_run: Annotated[bool, query("Only validate the task.")] = False,
        preview: Annotated[bool, query("With `dry_run`, fetch a few pages as well.")] = False,
        pages: Annotated[
            int, query("The number of pages a preview fetches.", ge=1, le=MAX_PREVIEW_PAGES)
        ] = 3,
        note: Note = "",
        idempotency_key: IdempotencyKey = None,
    ) -> TaskSaved | DryRun:
        """Create a task. The body is a task file.

        With `dry_run` the task is validated and not saved; with `preview` its first pages are also fetched
        and extracted as in a crawl.
        """
        from smartspider.services.tasks import saving
        from smartspider.services.tasks.checks import check_document, read_task_source

        if dry_run:
            from smartspider.wiring.preview.dry_run import dry_run_task

            services = self.services
            return await dry_run_task(
                services.installation, services.previews, self.principal, task, pages if preview else 0
            )
        checked = await check_document(self.installation, read_task_source(task), self.principal.name)
        return await saving.create(self.installation, self.principal, checked, note)

    @operation("GET", "/api/tasks", needs=("tasks", "read"), summary="List tasks", answer="A page of tasks")
    async def list_tasks(
        self,
        *,
        limit: Limit = 100,
        cursor: Cursor = None,
        **only: Unpack[TaskArguments],
    ) -> Listed[TaskLine]:
        """List tasks, by default in the order of their creation, or by name with `name`."""
        from smartspider.services.tasks import views

        return await views.list_tasks(self.installation, only, cursor=cursor, limit=limit)

    @operation(
        "GET",
        "/api/tasks/{task_id}",
        needs=("tasks", "read"),
        summary="Get a task",
        answer="The task",
        etag="version",
    )
    async def get_task(self, task_id: TaskId) -> TaskView:
        """Return the newest version of a task, and its newest run.

        Secrets are masked for users without write access.
        """
        from smartspider.services.tasks import tasks, views

        task = await tasks.find_task(self.installation, task_id)
        return await views.show(self.installation, self.principal, task)

    @operation(
        "PUT",
        "/api/tasks/{task_id}",
        needs=("tasks", "write"),
        summary="Save a new version of a task",
        answer="The updated task",
        example=CHANGED,
        etag="version",
    )
    async def change_task(
        self, task_id: TaskId, task: TaskBody, *, note: Note = "", if_match: IfMatch = None
    ) -> TaskSaved:
        """Save a new version of a task, unless it is unchanged. A task cannot be renamed."""
        from smartspider.services.tasks import saving, tasks
        from smartspider.services.tasks.checks import check_document, read_task_source

        old = await tasks.find_own_task(self.installation, task_id, self.principal)
        checked = await check_document(self.installation, read_task_source(task), self.principal.name)
        expected = tasks.expected_version(if_match, old.version)
        return await saving.change(
            self.installation, self.principal, old, checked, expected=expected, note=note
        )

    @operation(
        "DELETE",
        "/api/tasks/{task_id}",
        needs=("tasks", "write"),
        summary="Delete a task",
        answer="The task is deleted",
        status=204,
    )
    async def delete_task(self, task_id: TaskId, *, if_match: IfMatch = None) -> None:
        """Delete a task that has no unfinished run. Its runs, rows and versions are kept."""
        from smartspider.services.tasks import tasks

        task = await tasks.find_own_task(self.installation, task_id, self.principal)
        tasks.expected_version(if_match, task.version)
        await tasks.delete(self.installation.tasks, task, self.principal)

    @operation(
        "GET",
        "/api/tasks/{task_id}/versions",
        needs=("tasks", "read"),
        summary="List the versions of a task",
        answer="A page of versions, each with its changes",
    )
    async def list_task_versions(
        self,
        task_id: TaskId,
        *,
        limit: Annotated[int, query("Maximum number of items to return.", ge=1, le=100)] = 20,
        cursor: Cursor = None,
    ) -> Listed[VersionLine]:
        """List versions, newest first, with author, time, note and changes. A deleted task can be addressed
        by id.
        """
        from smartspider.services.tasks import tasks, views

        task = await tasks.find_task(self.installation, task_id, or_deleted=True)
        return await views.list_versions(
            self.installation.tasks, self.principal, task, cursor=cursor, limit=limit
        )

    @operation(
        "GET",
        "/api/tasks/{task_id}/versions/{number}",
        needs=("tasks", "read"),
        summary="Get a version of a task",
        answer="The version, with the task file",
    )
    async def get_task_version(
        self,
        task_id: TaskId,
        number: Annotated[int, Param(about="The number of the version.", rules={"ge": 1, "le": 10**12})],
    ) -> VersionView:
        """Return one version with its task file and changes. A deleted task can be addressed by id."""
        from smartspider.services.tasks import tasks, views

        task = await tasks.find_task(self.installation, task_id, or_deleted=True)
        return await views.show_version(self.installation.tasks, self.principal, task, number)
