"""Handles of tasks and runs."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Literal, Unpack

import msgspec

from smartspider.client.remote import task_bytes
from smartspider.client.rows import PAGE_SIZE, Results, all_of
from smartspider.core.errors import Conflict
from smartspider.core.runs.run import FINISHED, RunState
from smartspider.core.runs.tuning import Tuning
from smartspider.operations.table import AllOperations
from smartspider.operations.tasks import TaskText
from smartspider.views.arguments import FailureArguments, LogArguments, TaskArguments
from smartspider.views.explain import ExplanationView
from smartspider.views.listed import Listed
from smartspider.views.logs import LogView
from smartspider.views.runs import LiveEvent, MetricsView, StallView, StatusView, TunedView
from smartspider.views.tasks import TaskHead, TaskLine, TaskSaved, TaskView

ENDED: frozenset[RunState] = FINISHED | {"stopped"}
"""States in which a run stays until a user acts."""
STATE = "run.state"
STATUS = "run.status"


class StreamEvent(msgspec.Struct, frozen=True):
    """An event of a run. `id` is its number within the run; messages about the stream have none."""

    id: int | None
    run_id: str | None
    at: str
    event: str
    data: dict[str, Any]


class RunHandle:
    """A run of a task."""

    id: str
    task_id: str

    def __init__(self, client: AllOperations, id: str, task_id: str) -> None:  # noqa: A002 - what it is
        self._client = client
        self.id = id
        self.task_id = task_id

    def __repr__(self) -> str:
        return f"RunHandle(id={self.id!r}, task_id={self.task_id!r})"

    @property
    def results(self) -> Results:
        """The rows of the run."""
        return Results(self._client, {"run_id": self.id})

    async def status(self) -> StatusView:
        """Return the state, counters, speed and estimated end of the run."""
        return await self._client.get_run(self.id)

    async def metrics(self) -> MetricsView:
        """Return the status by host and by worker, and the settings in force."""
        return await self._client.get_run_metrics(self.id)

    async def follow(
        self, *, after: int | None = None, snapshot: bool = False, forever: bool = False
    ) -> AsyncGenerator[StreamEvent]:
        """Yield all events after a number, past and future, each once, until the run ends.

        A broken connection or a restarted server leaves no gap. With `snapshot` the stream starts with the
        status of the run; with `forever` it continues after the run ends, because the run may be resumed.
        """
        events = self._client.follow_run(self.id, after=after, snapshot=snapshot, follow=forever)
        async with aclosing(events):
            async for event in events:
                yield _event(event)

    async def wait(self, *, timeout_s: float | None = None, or_paused: bool = False) -> StatusView:
        """Wait until the run ends or is stopped, and return its status; raise `TimeoutError`. With
        `or_paused` also return when the run is paused, for example by a guard.
        """
        async with asyncio.timeout(timeout_s):
            while True:
                await self._until_ended(or_paused=or_paused)
                status = await self.status()
                if status.state in ENDED or (or_paused and status.state == "paused"):
                    return status

    async def _until_ended(self, *, or_paused: bool) -> None:
        async with aclosing(self.follow(snapshot=True)) as events:
            async for event in events:
                state = {STATUS: event.data.get("state"), STATE: event.data.get("to")}.get(event.event)
                if or_paused and state == "paused":
                    return

    async def pause(self) -> None:
        """Pause the run; requests in flight are still stored."""
        await self._client.pause_run(self.id)

    async def resume(self) -> None:
        """Resume the run after a pause or a stop."""
        await self._client.resume_run(self.id)

    async def stop(self) -> None:
        """Stop the run after its requests in flight; it can be resumed."""
        await self._client.stop_run(self.id)

    async def cancel(self) -> None:
        """Cancel the run; it cannot be resumed."""
        await self._client.cancel_run(self.id)

    async def retry(
        self, *, which: Literal["failed", "all"] = "failed", **only: Unpack[FailureArguments]
    ) -> RunHandle:
        """Retry the failed requests in this run, all or those that match, or all requests in a new one;
        return that run.
        """
        again = await self._client.retry_run(self.id, which=which, **only)
        return RunHandle(self._client, again.run_id, again.task_id)

    async def tune(self, **knobs: Unpack[Tuning]) -> TunedView:
        """Change settings while the run is active; settings that are not named are kept."""
        return await self._client.tune_run(self.id, **knobs)

    async def delete(self) -> None:
        """Delete the run with its rows, items and logs."""
        await self._client.delete_run(self.id)

    async def why(self, url: str) -> ExplanationView:
        """Explain why a URL was or was not fetched in the run."""
        return await self._client.explain_url(url, run_id=self.id)

    async def stall(self) -> StallView:
        """Explain whether the run makes progress; if not, why, and what to do."""
        return await self._client.explain_stall(self.id)


class TaskHandle:
    """A task. `saved` is the result of `apply`, if it created this handle."""

    id: str
    name: str
    version: int
    saved: TaskSaved | None

    def __init__(self, client: AllOperations, line: TaskHead | TaskSaved) -> None:
        self._client = client
        self.id = line.id
        self.name = line.name
        self.version = line.version
        self.saved = line if isinstance(line, TaskSaved) else None

    def __repr__(self) -> str:
        return f"TaskHandle(id={self.id!r}, name={self.name!r}, version={self.version})"

    @property
    def results(self) -> Results:
        """The rows of the newest run of the task."""
        return Results(self._client, {"task_id": self.id})

    async def show(self) -> TaskView:
        """Return the newest version of the task, and its newest run."""
        return await self._client.get_task(self.id)

    async def start(
        self,
        *,
        version: int | None = None,
        overlap: bool | None = None,
        tuning: Tuning | None = None,
        idempotency_key: str | None = None,
    ) -> RunHandle:
        """Start a run of the newest version, or of `version`."""
        started = await self._client.start_task(
            self.id, version=version, overlap=overlap, tuning=tuning, idempotency_key=idempotency_key
        )
        return RunHandle(self._client, started.run_id, started.task_id)

    async def newest_run(self) -> RunHandle | None:
        """Return the newest run of the task; None if there is none."""
        newest = (await self.show()).newest_run
        return None if newest is None else RunHandle(self._client, newest.run_id, self.id)

    async def follow(self) -> AsyncGenerator[StreamEvent]:
        """Yield the events of the newest run, and then of all later runs; the stream does not end."""
        events = self._client.watch_task(self.id)
        async with aclosing(events):
            async for event in events:
                yield _event(event)

    async def delete(self) -> None:
        """Delete the task; its versions, its runs and their rows are kept."""
        await self._client.delete_task(self.id)


class Tasks:
    """The tasks of a server."""

    def __init__(self, client: AllOperations) -> None:
        self._client = client

    async def apply(self, spec: TaskText | Path, *, note: str = "") -> TaskHandle:
        """Create a task, or a new version of the task with the same name. `spec` is a mapping, the text of a
        task file, or its path.
        """
        if isinstance(spec, Path):
            spec = await asyncio.to_thread(spec.read_bytes)
        name = _name(spec)
        try:
            saved = await self._saved(name, spec, note)
        except Conflict:  # created meanwhile, or owned by another user
            saved = await self._saved(name, spec, note)
        return TaskHandle(self._client, saved)

    async def _saved(self, name: str | None, spec: TaskText, note: str) -> TaskSaved:
        found = [] if name is None else (await self._client.list_tasks(name=name, limit=1)).items
        if found and found[0].name == name:
            return await self._client.change_task(found[0].id, spec, note=note)
        return await self._client.create_task(spec, note=note)

    async def get(self, task: str) -> TaskHandle:
        """Return a task by its id or name."""
        return TaskHandle(self._client, await self._client.get_task(task))

    async def iter(
        self, *, page_size: int = PAGE_SIZE, **only: Unpack[TaskArguments]
    ) -> AsyncGenerator[TaskHandle]:
        """Yield all tasks, or those that match the conditions of `list_tasks`, fetched `page_size` at a
        time.
        """

        async def page(cursor: str | None) -> Listed[TaskLine]:
            return await self._client.list_tasks(limit=page_size, cursor=cursor, **only)

        async with aclosing(all_of(page)) as found:
            async for line in found:
                yield TaskHandle(self._client, line)


class Runs:
    """The runs of a server."""

    def __init__(self, client: AllOperations) -> None:
        self._client = client

    async def get(self, run_id: str) -> RunHandle:
        """Return a run by its id."""
        found = await self._client.get_run(run_id)
        return RunHandle(self._client, run_id, found.task_id)


class Logs:
    """The log lines of a server."""

    def __init__(self, client: AllOperations) -> None:
        self._client = client

    async def iter(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        page_size: int = PAGE_SIZE,
        **only: Unpack[LogArguments],
    ) -> AsyncGenerator[LogView]:
        """Yield all stored lines that match all filters, newest first, fetched `page_size` at a time."""

        async def page(cursor: str | None) -> Listed[LogView]:
            return await self._client.list_logs(
                task_id=task_id, run_id=run_id, limit=page_size, cursor=cursor, **only
            )

        async with aclosing(all_of(page)) as found:
            async for line in found:
                yield line

    async def tail(
        self,
        *,
        task_id: str | None = None,
        run_id: str | None = None,
        after: str | None = None,
        **only: Unpack[LogArguments],
    ) -> AsyncGenerator[LogView]:
        """Yield lines as they are written, each once, from now on or after the line with the id `after`."""
        lines = self._client.tail_logs(task_id=task_id, run_id=run_id, after=after, **only)
        async with aclosing(lines):
            async for line in lines:
                yield line


def _event(live: LiveEvent) -> StreamEvent:
    return StreamEvent(live.id, live.run_id, live.at, live.event, msgspec.json.decode(live.data))


def _name(spec: TaskText) -> str | None:
    """Return the name in a task; None if it cannot be read, which the server reports."""
    document = spec if isinstance(spec, Mapping) else _read(spec)
    name = document.get("name") if isinstance(document, Mapping) else None
    return name if isinstance(name, str) and name else None


def _read(text: str | bytes | msgspec.Raw) -> object:
    sent, kind = task_bytes(text)
    if kind == "application/json":
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(sent.removeprefix(codecs.BOM_UTF8))
        return None
    import yaml

    with suppress(yaml.YAMLError, RecursionError):
        return yaml.safe_load(sent)
    return None
