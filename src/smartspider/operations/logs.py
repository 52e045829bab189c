"""Log lines: searched, and followed live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Unpack

from smartspider.operations.operation import Operations, operation
from smartspider.services.inputs import parse_id
from smartspider.views.arguments import LogArguments
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView
from smartspider.views.params import Cursor, Limit, RunId, TaskId, query

OfTask = Annotated[str | None, query("Lines of this task: its id or name.", max_length=200)]
OfRun = Annotated[str | None, query("Lines of this run.", max_length=40)]
ANSWER = "A page of lines. It may contain fewer than `limit` lines even if more exist"
EXAMPLE = {
    "items": [
        {
            "id": "4711",
            "at": "2026-01-31T12:00:00.000Z",
            "level": "warning",
            "event": "fetch.retried",
            "text": "timeout; attempt 1 failed, next attempt in 2.0 s or later",
            "worker": "worker 0",
            "task_id": "1",
            "run_id": "7",
            "host": "shop.example",
            "url": "https://shop.example/p/15",
            "error": "timeout",
            "fields": {"attempts": 1, "delay_s": 2.0},
        }
    ],
    "next": "4711",
}
LOGS: dict[str, Any] = {
    "needs": ("logs", "read"),
    "answer": ANSWER,
    "example": EXAMPLE,
    "tags": ("logs",),
    "is_heavy": True,
}


class LogOperations(Operations):
    """The log of the installation."""

    @operation("GET", "/api/logs", summary="List log lines", **LOGS)
    async def list_logs(
        self,
        *,
        task_id: OfTask = None,
        run_id: OfRun = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        **only: Unpack[LogArguments],
    ) -> Listed[LogView]:
        """List log lines, newest first; all filters given must match."""
        from smartspider.services import logs

        return await logs.search(self.installation, only, task_id, run_id, cursor=cursor, limit=limit)

    @operation("GET", "/api/runs/{run_id}/logs", summary="List the log lines of a run", **LOGS)
    async def list_run_logs(
        self, run_id: RunId, *, limit: Limit = 100, cursor: Cursor = None, **only: Unpack[LogArguments]
    ) -> Listed[LogView]:
        """List the log lines of a run, newest first."""
        from smartspider.services import logs

        await self.installation.store.get_run(parse_id(run_id, "run"))
        return await logs.search(self.installation, only, None, run_id, cursor=cursor, limit=limit)

    @operation(
        "GET", "/api/tasks/{task_id}/logs", summary="List the log lines of the newest run of a task", **LOGS
    )
    async def list_task_logs(
        self, task_id: TaskId, *, limit: Limit = 100, cursor: Cursor = None, **only: Unpack[LogArguments]
    ) -> Listed[LogView]:
        """List the log lines of the newest run, newest first. `/api/logs?task_id=` lists
        those of all runs.
        """
        from smartspider.services import logs
        from smartspider.services.runs.lookup import newest_run
        from smartspider.services.tasks.tasks import find_task

        task = await find_task(self.installation, task_id, or_deleted=True)
        run = await newest_run(self.installation.store, task.id)
        if run is None:
            return Listed([], None)
        return await logs.search(self.installation, only, None, str(run.id), cursor=cursor, limit=limit)

    async def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogArguments],
    ) -> AsyncGenerator[LogView]:
        """Yield log lines as they are written, each once; with `after`, those since that id first."""
        from smartspider.services import logs
        from smartspider.services.live.log_tail import tail_logs

        since = None if after is None else parse_id(after, "log line")
        wanted = await logs.parse_filter(self.installation, only, task_id, run_id)
        holder = self.principal.name
        stream = tail_logs(self.installation, self.services.hub, wanted, holder, after=since)
        async with aclosing(stream) as lines:
            async for line in lines:
                if line is not None:
                    yield line

    async def tail_run_logs(
        self, run_id: str, *, after: str | None = None, **only: Unpack[LogArguments]
    ) -> AsyncGenerator[LogView]:
        """Yield the log lines of a run as they are written, like `tail_logs`."""
        await self.installation.store.get_run(parse_id(run_id, "run"))
        async with aclosing(self.tail_logs(run_id=run_id, after=after, **only)) as lines:
            async for line in lines:
                yield line
