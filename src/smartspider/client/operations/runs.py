"""Runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Unpack

from smartspider.client.connection import new_key, place
from smartspider.client.operations.wired import Wired
from smartspider.core.runs import RunState
from smartspider.core.verdict import UrlState
from smartspider.views.asked import KnobWords
from smartspider.views.listed import Listed
from smartspider.views.runs import (
    FailureView,
    MetricsView,
    PageView,
    ReceiptView,
    Retried,
    RunView,
    StallView,
    Started,
    StatusView,
    TunedView,
)

RUNS = "/api/runs/"


class RunOperations(Wired):
    """Runs: how they stand, and steering them."""

    async def list_runs(
        self,
        *,
        task_id: str | None = None,
        state: RunState | Sequence[RunState] = (),
        limit: int = 100,
        cursor: str | None = None,
    ) -> Listed[RunView]:
        """Runs of all tasks or of one, newest first."""
        params = {
            "task_id": task_id,
            "state": [state] if isinstance(state, str) else list(state),
            "limit": limit,
            "cursor": cursor,
        }
        return await self.connection.get("/api/runs", Listed[RunView], params)

    async def get_run(self, run_id: str) -> StatusView:
        """A run as it stands."""
        return await self.connection.get(place(RUNS, run_id), StatusView)

    async def tune_run(self, run_id: str, **knobs: Unpack[KnobWords]) -> TunedView:
        """Turn knobs of a run while it works; what is not named stays."""
        answer = await self.connection.request("PATCH", place(RUNS, run_id), body=knobs)
        return self.connection.read(answer, TunedView)

    async def delete_run(self, run_id: str) -> None:
        """Delete a run with its rows, items and logs."""
        await self.connection.request("DELETE", place(RUNS, run_id))

    async def pause_run(self, run_id: str) -> Started:
        """Hand out nothing more; what is in flight is still stored."""
        return await self.connection.post(place(RUNS, run_id, "/pause"), Started)

    async def resume_run(self, run_id: str) -> Started:
        """Go on with a run that was paused or stopped."""
        return await self.connection.post(place(RUNS, run_id, "/resume"), Started)

    async def stop_run(self, run_id: str) -> Started:
        """End a run after what is in flight; it can be resumed."""
        return await self.connection.post(place(RUNS, run_id, "/stop"), Started)

    async def cancel_run(self, run_id: str) -> Started:
        """End a run for good."""
        return await self.connection.post(place(RUNS, run_id, "/cancel"), Started)

    async def retry_run(
        self,
        run_id: str,
        *,
        which: Literal["failed", "all"] = "failed",
        idempotency_key: str | None = None,
    ) -> Retried:
        """What failed once more in the same run, or everything in a new one."""
        path = place(RUNS, run_id, "/retry")
        return await self.connection.post(path, Retried, {"which": which}, key=idempotency_key or new_key())

    async def get_run_metrics(self, run_id: str) -> MetricsView:
        """A run, host by host and worker by worker, and its knobs."""
        return await self.connection.get(place(RUNS, run_id, "/metrics"), MetricsView)

    async def explain_stall(self, run_id: str) -> StallView:
        """What holds a run back and what to do, or that it moves."""
        return await self.connection.get(place(RUNS, run_id, "/explain-stall"), StallView)

    async def list_run_failures(
        self, run_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[FailureView]:
        """Requests that were given up or could not be read, in the order they were found."""
        path = place(RUNS, run_id, "/failures")
        return await self.connection.get(path, Listed[FailureView], {"limit": limit, "cursor": cursor})

    async def list_run_pages(
        self, run_id: str, *, state: UrlState | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[PageView]:
        """Every request the run knows, in the order they were found."""
        params = {"state": state, "limit": limit, "cursor": cursor}
        return await self.connection.get(place(RUNS, run_id, "/pages"), Listed[PageView], params)

    async def get_run_receipt(self, run_id: str) -> ReceiptView:
        """How a run treated its hosts."""
        return await self.connection.get(place(RUNS, run_id, "/receipt"), ReceiptView)
