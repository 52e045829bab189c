"""Log lines: searched, and followed live."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Unpack

from smartspider.operations.operation import Operations, operation
from smartspider.services.inputs import parse_id
from smartspider.views.arguments import LogArguments, LogConditions
from smartspider.views.listed import Listed
from smartspider.views.logs import LogHistogram, LogView
from smartspider.views.params import Cursor, Limit, RunId, TaskId, query

OfTask = Annotated[str | None, query("Lines of this task: its id or name.", max_length=200)]
OfRun = Annotated[str | None, query("Lines of this run.", max_length=40)]
Around = Annotated[
    str | None, query("The id of a line: list it with the lines before and after it.", max_length=40)
]
Context = Annotated[int, query("The number of lines before and after `around`.", ge=0, le=500)]
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
TIME = "ISO 8601, or Unix time in seconds."
HISTOGRAM = {
    "from": "2026-01-31T12:00:00.000Z",
    "to": "2026-01-31T13:00:00.000Z",
    "step_s": 3600.0,
    "is_estimated": False,
    "points": [{"at": "2026-01-31T12:00:00.000Z", "debug": 0, "info": 812, "warning": 7, "error": 1}],
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
        around: Around = None,
        context: Context = 20,
        **only: Unpack[LogArguments],
    ) -> Listed[LogView]:
        """List log lines, newest first; all filters given must match.

        With `around` the list has that line, and up to `context` matching ones before and after it.
        """
        from smartspider.services import logs

        place = logs.ListPlace(cursor, limit, around, context)
        return await logs.search(self.installation, only, task_id, run_id, place)

    @operation(
        "GET",
        "/api/logs/histogram",
        summary="Count log lines over time",
        **{**LOGS, "answer": "The counts by level", "example": HISTOGRAM},
    )
    async def count_logs(
        self,
        *,
        task_id: OfTask = None,
        run_id: OfRun = None,
        start: Annotated[
            str | None, query(f"Count from this time. {TIME}", alias="from", max_length=40)
        ] = None,
        end: Annotated[str | None, query(f"Count up to this time. {TIME}", alias="to", max_length=40)] = None,
        points: Annotated[int, query("The number of points.", ge=1, le=200)] = 60,
        **only: Unpack[LogConditions],
    ) -> LogHistogram:
        """Count log lines by time and level; by default, those of the last hour.

        Many lines are not all read: then warnings and errors are counted while they are few, and frequent
        levels are estimated from a sample, which `is_estimated` says.
        """
        from smartspider.services import logs

        return await logs.count(self.installation, only, task_id, run_id, start=start, end=end, points=points)

    @operation("GET", "/api/runs/{run_id}/logs", summary="List the log lines of a run", **LOGS)
    async def list_run_logs(
        self,
        run_id: RunId,
        *,
        limit: Limit = 100,
        cursor: Cursor = None,
        around: Around = None,
        context: Context = 20,
        **only: Unpack[LogArguments],
    ) -> Listed[LogView]:
        """List the log lines of a run, newest first, like `/api/logs`."""
        from smartspider.services import logs

        await self.installation.store.get_run(parse_id(run_id, "run"))
        place = logs.ListPlace(cursor, limit, around, context)
        return await logs.search(self.installation, only, None, run_id, place)

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
        return await logs.search(self.installation, only, None, str(run.id), logs.ListPlace(cursor, limit))

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
