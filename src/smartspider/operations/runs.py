"""Runs, and calls that act on the newest run of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Unpack

from smartspider.core.runs.run import RunState
from smartspider.core.runs.tuning import Tuning
from smartspider.operations.operation import Body, Operations, Replay, operation
from smartspider.services.inputs import parse_id
from smartspider.views.arguments import FailureArguments, PageArguments
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, IdempotencyKey, Limit, Param, RunId, TaskId, body, query
from smartspider.views.runs import (
    Begun,
    FailureView,
    MetricsView,
    PageView,
    ReceiptView,
    Retried,
    RunView,
    SeriesView,
    StallView,
    Started,
    StatusView,
    TunedView,
)

STARTED = {"run_id": "7", "task_id": "3", "state": "queued", "reason": ""}
LOCATION = "/api/runs/{run_id}"
Which = Literal["failed", "all"]
DemoName = Literal["shop", "trouble"]
SeriesSince = Annotated[str | None, query("From this time on.", max_length=60)]
SeriesUntil = Annotated[str | None, query("Up to this time.", max_length=60)]
SeriesPoints = Annotated[int, query("Maximum number of periods.", ge=1, le=500)]
WhichFailed = Annotated[
    Which,
    body("`failed`: what failed, in the same run; `all`: everything, in a new run of the same version."),
]
START_BODY = Body(
    "StartBody",
    "Options of the new run.",
    examples=({"overlap": True, "tuning": {"concurrency": 4}},),
    named_examples={
        "plain": {"summary": "The newest version, if no other run is active", "value": {}},
        "beside": {"summary": "Concurrently with other runs", "value": {"overlap": True}},
        "gently": {
            "summary": "An older version with a longer delay and a lower page limit",
            "value": {"version": 2, "tuning": {"delay_s": 2.0, "limits": {"max_pages": 100}}},
        },
    },
    is_strict=True,
    is_optional=True,
)
RETRY_BODY = Body(
    "RetryBody",
    "Requests to retry.",
    examples=({"which": "failed"},),
    named_examples={
        "failed": {"summary": "The failed requests, in the same run", "value": {"which": "failed"}},
        "some": {
            "summary": "Those that failed for one cause at one host",
            "value": {"cause": "timeout", "host": "shop.example.com"},
        },
        "pages": {"summary": "Some of them", "value": {"page_ids": ["7696581394433"]}},
        "all": {"summary": "Everything, in a new run", "value": {"which": "all"}},
    },
    is_optional=True,
)
RUN: dict[str, Any] = {
    "needs": ("runs", "write"),
    "answer": "The run",
    "status": 202,
    "example": STARTED,
    "location": LOCATION,
}
RETRY: dict[str, Any] = {
    **RUN,
    "answer": "The run whose requests are retried",
    "example": {**STARTED, "requests": 12},
    "replay": Replay(),
    "body": RETRY_BODY,
}


async def _rebuild_started(operations: Any, subject: str) -> Begun:
    """Return the answer about a run that a lost call started (`run:7`)."""
    from smartspider.services.runs import runs

    installation = operations.services.installation
    run = await installation.store.get_run(int(subject.removeprefix("run:")))
    return await runs.get_begun(installation, run, operations.principal.name)


class RunOperations(Operations):
    """Runs: their state and progress, and control over them."""

    @operation("GET", "/api/runs", needs=("runs", "read"), summary="List runs", answer="A page of runs")
    async def list_runs(
        self,
        *,
        task_id: Annotated[
            str | None, query("Only runs of this task: its id or name.", max_length=200)
        ] = None,
        state: Annotated[
            RunState | Sequence[RunState],
            query("Only runs in one of these states.", wire=list[RunState] | None),
        ] = (),
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[RunView]:
        """List the runs of all tasks or of one, newest first."""
        from smartspider.services.runs import runs
        from smartspider.services.tasks.tasks import find_task

        task = None if task_id is None else await find_task(self.installation, task_id, or_deleted=True)
        states: Sequence[RunState] = (state,) if isinstance(state, str) else tuple(state or ())
        return await runs.list_runs(self.installation, task, states, cursor=cursor, limit=limit)

    @operation(
        "GET",
        "/api/series",
        needs=("runs", "read"),
        summary="Get the course of all runs over time",
        answer="The counts by period",
        tags=("runs",),
        is_heavy=True,
    )
    async def get_series(
        self, *, since: SeriesSince = None, until: SeriesUntil = None, points: SeriesPoints = 120
    ) -> SeriesView:
        """Return what the newest runs did together in periods of equal length, by default in the last
        hour.
        """
        from smartspider.services.runs import series

        return await series.get_total_series(self.installation, series.SeriesQuery(since, until, points))

    @operation("GET", "/api/runs/{run_id}", needs=("runs", "read"), summary="Get a run", answer="The run")
    async def get_run(self, run_id: RunId) -> StatusView:
        """Return the state, counters, speed and estimated end of a run."""
        from smartspider.services.runs import runs

        return await runs.get_status(self.installation, parse_id(run_id, "run"))

    @operation(
        "PATCH",
        "/api/runs/{run_id}",
        needs=("runs", "write"),
        summary="Change the settings of an active run",
        answer="The previous and current values",
        body=Body("Knobs", model="smartspider.taskfile.model.tuning:Knobs"),
    )
    async def tune_run(self, run_id: RunId, **tuning: Unpack[Tuning]) -> TunedView:
        """Change concurrency, delay, rate, requests per host, priority or limits. Omitted settings stay
        unchanged.
        """
        from smartspider.services.runs.tuning import parse_tuning, tune

        return await tune(self.installation, self.principal, parse_id(run_id, "run"), parse_tuning(tuning))

    @operation(
        "DELETE",
        "/api/runs/{run_id}",
        needs=("runs", "write"),
        summary="Delete a run",
        answer="The run is deleted",
        status=204,
    )
    async def delete_run(self, run_id: RunId) -> None:
        """Delete a run with its rows and logs. A run with requests in flight must be cancelled first."""
        from smartspider.wiring.deletion import delete_run

        await delete_run(self.installation, self.principal, parse_id(run_id, "run"))

    @operation("POST", "/api/runs/{run_id}/pause", summary="Pause a run", **RUN)
    async def pause_run(self, run_id: RunId) -> Started:
        """Pause a run. No further requests are leased; requests in flight are finished and stored."""
        from smartspider.services.runs import control

        return await control.pause(self.installation, self.principal, parse_id(run_id, "run"))

    @operation("POST", "/api/runs/{run_id}/resume", summary="Resume a run", **RUN)
    async def resume_run(self, run_id: RunId) -> Started:
        """Resume a run that is paused or stopped."""
        from smartspider.services.runs import control

        return await control.resume(self.installation, self.principal, parse_id(run_id, "run"))

    @operation("POST", "/api/runs/{run_id}/stop", summary="Stop a run", **RUN)
    async def stop_run(self, run_id: RunId) -> Started:
        """Stop a run after the requests in flight; it can be resumed."""
        from smartspider.services.runs import control

        return await control.stop(self.installation, self.principal, parse_id(run_id, "run"))

    @operation("POST", "/api/runs/{run_id}/cancel", summary="Cancel a run", **RUN)
    async def cancel_run(self, run_id: RunId) -> Started:
        """Cancel a run; it cannot be resumed."""
        from smartspider.services.runs import control

        return await control.cancel(self.installation, self.principal, parse_id(run_id, "run"))

    @operation("POST", "/api/runs/{run_id}/retry", summary="Retry a run", **RETRY)
    async def retry_run(
        self,
        run_id: RunId,
        *,
        which: WhichFailed = "failed",
        idempotency_key: IdempotencyKey = None,
        **only: Unpack[FailureArguments],
    ) -> Retried:
        """Retry the failed requests in the same run, all or those that match, or fetch everything again in a
        new run.
        """
        from smartspider.services.runs import control

        run = parse_id(run_id, "run")
        return await control.retry(self.installation, self.principal, run, which, only)

    @operation(
        "GET",
        "/api/runs/{run_id}/metrics",
        needs=("runs", "read"),
        summary="Get the metrics of a run",
        answer="The run",
    )
    async def get_run_metrics(self, run_id: RunId) -> MetricsView:
        """Return the status of a run by host, worker and step, and its tunable settings."""
        from smartspider.services.runs import runs

        return await runs.get_metrics(self.installation, parse_id(run_id, "run"))

    @operation(
        "GET",
        "/api/runs/{run_id}/series",
        needs=("runs", "read"),
        summary="Get the course of a run over time",
        answer="The counts by period",
    )
    async def get_run_series(
        self,
        run_id: RunId,
        *,
        since: SeriesSince = None,
        until: SeriesUntil = None,
        points: SeriesPoints = 120,
    ) -> SeriesView:
        """Return what a run did in periods of equal length, and the events that explain its course: changed
        states and settings, held hosts, guards.
        """
        from smartspider.services.runs import series

        wanted = series.SeriesQuery(since, until, points)
        return await series.get_series(self.installation, parse_id(run_id, "run"), wanted)

    @operation(
        "GET",
        "/api/runs/{run_id}/explain-stall",
        needs=("runs", "read"),
        summary="Explain why a run makes no progress",
        answer="The causes and the recommended actions",
        tags=("runs", "explain"),
    )
    async def explain_stall(self, run_id: RunId) -> StallView:
        """Return the causes that block a run (state, workers, limits, rate limits, retries), or report that
        it is progressing.
        """
        from smartspider.services.runs import stall

        return await stall.explain_stall(self.installation, parse_id(run_id, "run"))

    @operation(
        "GET",
        "/api/runs/{run_id}/failures",
        needs=("runs", "read"),
        summary="List the failed requests of a run",
        answer="A page of requests",
        is_heavy=True,
    )
    async def list_run_failures(
        self, run_id: RunId, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[FailureView]:
        """List requests that failed permanently or could not be parsed, in discovery order."""
        from smartspider.services.runs import runs

        return await runs.list_failures(
            self.installation, parse_id(run_id, "run"), cursor=cursor, limit=limit
        )

    @operation(
        "GET",
        "/api/runs/{run_id}/pages",
        needs=("runs", "read"),
        summary="List the requests of a run",
        answer="A page of requests",
        is_heavy=True,
    )
    async def list_run_pages(
        self,
        run_id: RunId,
        *,
        limit: Limit = 100,
        cursor: Cursor = None,
        **only: Unpack[PageArguments],
    ) -> Listed[PageView]:
        """List the requests of a run that match all parameters, in discovery order. A page may hold fewer
        than `limit` although `next` names another: one call reads a bounded number of requests.
        """
        from smartspider.services.runs import runs
        from smartspider.store.runs.listing import PageFilter

        run = parse_id(run_id, "run")
        return await runs.list_pages(self.installation, run, PageFilter(**only), cursor=cursor, limit=limit)

    @operation(
        "GET",
        "/api/runs/{run_id}/receipt",
        needs=("runs", "read"),
        summary="Get the politeness receipt of a run",
        answer="The politeness receipt",
        is_heavy=True,
    )
    async def get_run_receipt(self, run_id: RunId) -> ReceiptView:
        """Return the number of requests, the rate, the smallest gap, refusals and violations of each host."""
        from smartspider.services.runs import runs

        return await runs.get_receipt(self.installation, parse_id(run_id, "run"))


class TaskRunOperations(Operations):
    """Calls that act on the newest run of a task, which is named by its id or its name."""

    @operation(
        "POST",
        "/api/tasks/{task_id}/start",
        needs=("runs", "write"),
        summary="Start a run of a task",
        answer="The new run",
        status=202,
        example={**STARTED, "warnings": []},
        location=LOCATION,
        tags=("runs",),
        body=START_BODY,
        replay=Replay(rebuild=_rebuild_started),
    )
    async def start_task(
        self,
        task_id: TaskId,
        *,
        version: Annotated[
            int | None, body("The version of the task; default: the newest.", ge=1, le=10**12)
        ] = None,
        overlap: Annotated[
            bool | None,
            Param(
                about="Start even while another run of the task is unfinished.",
                place="body",
                is_also_query=True,
            ),
        ] = None,
        tuning: Annotated[
            Tuning | None,
            body("Settings that differ from the task.", wire_from="smartspider.taskfile.model.tuning:Knobs"),
        ] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Begun:
        """Start a run of the newest version of a task, or of `version`."""
        from smartspider.services.runs import runs
        from smartspider.services.runs.start import StartOptions, start_run
        from smartspider.services.runs.tuning import parse_tuning
        from smartspider.services.tasks.tasks import find_task

        options = StartOptions(version=version, overlap=bool(overlap), tuning=parse_tuning(tuning or {}))
        task = await find_task(self.installation, task_id)
        run = await start_run(self.installation, self.principal, task, options)
        return await runs.get_begun(self.installation, run, self.principal.name)

    @operation(
        "POST",
        "/api/demo/{name}/start",
        summary="Start a task of the demo shop",
        replay=Replay(rebuild=_rebuild_started),
        **RUN,
    )
    async def start_demo(
        self,
        name: Annotated[DemoName, Param(about="`shop`: all products; `trouble`: pages that fail.")],
        *,
        idempotency_key: IdempotencyKey = None,
    ) -> Begun:
        """Save a bundled task for the demo shop of this server (`up --demo`), and start a run of it."""
        from smartspider.services.runs import runs
        from smartspider.services.tasks.demo import start_demo

        run = await start_demo(self.installation, self.principal, name)
        return await runs.get_begun(self.installation, run, self.principal.name)

    @operation(
        "POST", "/api/tasks/{task_id}/pause", summary="Pause the newest run of a task", tags=("runs",), **RUN
    )
    async def pause_task(self, task_id: TaskId) -> Started:
        """Pause the newest run. No further requests are leased; requests in flight are
        finished and stored.
        """
        from smartspider.services.runs import control

        return await control.pause(self.installation, self.principal, await self._run(task_id))

    @operation(
        "POST",
        "/api/tasks/{task_id}/resume",
        summary="Resume the newest run of a task",
        tags=("runs",),
        **RUN,
    )
    async def resume_task(self, task_id: TaskId) -> Started:
        """Resume the newest run if it is paused or stopped."""
        from smartspider.services.runs import control

        return await control.resume(self.installation, self.principal, await self._run(task_id))

    @operation(
        "POST", "/api/tasks/{task_id}/stop", summary="Stop the newest run of a task", tags=("runs",), **RUN
    )
    async def stop_task(self, task_id: TaskId) -> Started:
        """Stop the newest run after the requests in flight; it can be resumed."""
        from smartspider.services.runs import control

        return await control.stop(self.installation, self.principal, await self._run(task_id))

    @operation(
        "POST",
        "/api/tasks/{task_id}/retry",
        summary="Retry the newest run of a task",
        tags=("runs",),
        **RETRY,
    )
    async def retry_task(
        self,
        task_id: TaskId,
        *,
        which: WhichFailed = "failed",
        idempotency_key: IdempotencyKey = None,
        **only: Unpack[FailureArguments],
    ) -> Retried:
        """Retry the failed requests of the newest run, all or those that match, or fetch everything again in
        a new run.
        """
        from smartspider.services.runs import control

        run = await self._run(task_id)
        return await control.retry(self.installation, self.principal, run, which, only)

    @operation(
        "GET",
        "/api/tasks/{task_id}/status",
        needs=("runs", "read"),
        summary="Get the status of the newest run of a task",
        answer="The run; the state of a task without one is `created`",
        tags=("runs",),
    )
    async def get_task_status(self, task_id: TaskId) -> StatusView:
        """Return the state, counters, speed and estimated end of the newest run."""
        from smartspider.services.runs import runs
        from smartspider.services.tasks.tasks import find_task

        return await runs.get_task_status(self.installation, await find_task(self.installation, task_id))

    @operation(
        "GET",
        "/api/tasks/{task_id}/metrics",
        needs=("runs", "read"),
        summary="Get the metrics of the newest run of a task",
        answer="The run; the state of a task without one is `created`",
        tags=("runs",),
    )
    async def get_task_metrics(self, task_id: TaskId) -> MetricsView:
        """Return the status of the newest run by host, worker and step, and its tunable settings."""
        from smartspider.services.runs import runs
        from smartspider.services.tasks.tasks import find_task

        return await runs.get_task_metrics(self.installation, await find_task(self.installation, task_id))

    async def _run(self, task_id: str) -> int:
        """Return the id of the newest run of a task."""
        from smartspider.services.runs.lookup import newest_run_of
        from smartspider.services.tasks.tasks import find_task

        return (await newest_run_of(self.installation, await find_task(self.installation, task_id))).id
