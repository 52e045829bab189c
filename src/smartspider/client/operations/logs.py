"""Log lines: found again, and followed as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Unpack

from smartspider.client.connection import place
from smartspider.client.operations.runs import RUNS
from smartspider.client.operations.tasks import TASKS
from smartspider.client.operations.wired import Wired
from smartspider.client.streams import over_websocket, resumed
from smartspider.views.asked import LogWords
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView


class LogOperations(Wired):
    """What happened, line by line."""

    async def list_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        **only: Unpack[LogWords],
    ) -> Listed[LogView]:
        """Lines of everything, or of what is asked for, newest first. A page may be short."""
        params = {"task_id": task_id, "run_id": run_id, "limit": limit, "cursor": cursor, **only}
        return await self.connection.get("/api/logs", Listed[LogView], params)

    async def list_run_logs(
        self, run_id: str, *, limit: int = 100, cursor: str | None = None, **only: Unpack[LogWords]
    ) -> Listed[LogView]:
        """What the workers said about a run, newest first."""
        params = {"limit": limit, "cursor": cursor, **only}
        return await self.connection.get(place(RUNS, run_id, "/logs"), Listed[LogView], params)

    async def list_task_logs(
        self, task_id: str, *, limit: int = 100, cursor: str | None = None, **only: Unpack[LogWords]
    ) -> Listed[LogView]:
        """Lines of the newest run of a task, newest first."""
        params = {"limit": limit, "cursor": cursor, **only}
        return await self.connection.get(place(f"{TASKS}/", task_id, "/logs"), Listed[LogView], params)

    async def tail_logs(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogWords],
    ) -> AsyncGenerator[LogView]:
        """Lines as they come, each once, also across broken connections; with `after` those since that id."""
        of = {"task_id": task_id, "run_id": run_id, **only}
        await self.list_logs(task_id=task_id, run_id=run_id, limit=1, **only)  # says what is wrong with it
        async for line in self._tail("/api/logs/tail", of, after):
            yield line

    async def tail_run_logs(
        self, run_id: str, *, after: str | None = None, **only: Unpack[LogWords]
    ) -> AsyncGenerator[LogView]:
        """Lines of a run as they come, like `tail_logs`."""
        await self.list_run_logs(run_id, limit=1, **only)
        async for line in self._tail(place(RUNS, run_id, "/logs/tail"), only, after):
            yield line

    async def _tail(self, path: str, of: Mapping[str, Any], after: str | None) -> AsyncGenerator[LogView]:
        last = after
        if last is None:  # from now on; a number to come back with before there is a line
            newest = (await self.list_logs(limit=1)).items
            last = newest[0].id if newest else "0"

        async def stream() -> AsyncGenerator[LogView | None]:
            async with aclosing(over_websocket(self.connection, path, {**of, "after": last})) as sent:
                async for data in sent:
                    yield None if data is None else self.connection.read(data, LogView)

        async with aclosing(resumed(stream)) as lines:
            async for line in lines:
                last = line.id
                yield line
