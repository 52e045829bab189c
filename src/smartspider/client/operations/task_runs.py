"""Starting tasks, and calls that act on the newest run of a task."""

from __future__ import annotations

from typing import Literal

from smartspider.client.connection import new_key, place
from smartspider.client.operations.tasks import TASKS
from smartspider.client.operations.wired import Wired
from smartspider.views.asked import KnobWords
from smartspider.views.runs import Begun, MetricsView, Retried, Started, StatusView


class TaskRunOperations(Wired):
    """Runs of a task, which is named by its id or its name."""

    async def start_task(
        self,
        task_id: str,
        *,
        version: int | None = None,
        overlap: bool | None = None,
        tuning: KnobWords | None = None,
        idempotency_key: str | None = None,
    ) -> Begun:
        """Start a run of the newest version of a task, or of the one named."""
        body = {"version": version, "overlap": overlap, "tuning": tuning}
        path = place(f"{TASKS}/", task_id, "/start")
        return await self.connection.post(path, Begun, body, key=idempotency_key or new_key())

    async def pause_task(self, task_id: str) -> Started:
        """Hand out nothing more of the newest run; what is in flight is still stored."""
        return await self.connection.post(place(f"{TASKS}/", task_id, "/pause"), Started)

    async def resume_task(self, task_id: str) -> Started:
        """Go on with the newest run, which was paused or stopped."""
        return await self.connection.post(place(f"{TASKS}/", task_id, "/resume"), Started)

    async def stop_task(self, task_id: str) -> Started:
        """End the newest run after what is in flight; it can be resumed."""
        return await self.connection.post(place(f"{TASKS}/", task_id, "/stop"), Started)

    async def retry_task(
        self,
        task_id: str,
        *,
        which: Literal["failed", "all"] = "failed",
        idempotency_key: str | None = None,
    ) -> Retried:
        """What failed once more in the newest run, or everything in a new one."""
        path = place(f"{TASKS}/", task_id, "/retry")
        return await self.connection.post(path, Retried, {"which": which}, key=idempotency_key or new_key())

    async def get_task_status(self, task_id: str) -> StatusView:
        """How the newest run stands; a task without one is `created`."""
        return await self.connection.get(place(f"{TASKS}/", task_id, "/status"), StatusView)

    async def get_task_metrics(self, task_id: str) -> MetricsView:
        """The newest run, host by host and worker by worker."""
        return await self.connection.get(place(f"{TASKS}/", task_id, "/metrics"), MetricsView)
