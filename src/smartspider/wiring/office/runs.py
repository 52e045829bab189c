"""Runs of a data folder."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal, Unpack

import msgspec

from smartspider.core.runs import RunState
from smartspider.core.tuning import Tuning
from smartspider.core.verdict import UrlState
from smartspider.services import run_views, runs
from smartspider.services.following import END, Ground, Wanted, follow_run
from smartspider.services.paging import number
from smartspider.views.asked import KnobWords
from smartspider.views.explain import ExplanationView
from smartspider.views.listed import Listed
from smartspider.views.live import LiveEvent
from smartspider.views.runs import (
    Begun,
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
from smartspider.wiring.office.tasks import TaskOffice

_decode = msgspec.json.Decoder(LiveEvent).decode


class RunOffice(TaskOffice):
    """Runs: how they stand, and steering them. Words and answers are those of the API."""

    async def list_runs(
        self,
        *,
        task_id: str | None = None,
        state: Sequence[RunState] = (),
        limit: int = 100,
        cursor: str | None = None,
    ) -> Listed[RunView]:
        """Runs of all tasks or of one, newest first."""
        task = None if task_id is None else await self._task(task_id, or_deleted=True)
        return await runs.list_runs(self.desk, task, state, cursor=cursor, limit=limit)

    async def start_task(
        self,
        task_id: str,
        *,
        version: int | None = None,
        overlap: bool | None = None,
        tuning: KnobWords | None = None,
    ) -> Begun:
        """Start a run of the newest version of a task, or of the one named."""
        from smartspider.services.starting import Order, start_run

        order = Order(version=version, overlap=bool(overlap), tuning=_tuning(tuning or {}))
        task = await self._task(task_id)
        return await runs.begun(self.desk, await start_run(self.desk, self.principal, task, order))

    async def get_run(self, run_id: str) -> StatusView:
        """A run as it stands."""
        return await runs.status(self.desk, number(run_id, "run"))

    async def tune_run(self, run_id: str, **knobs: Unpack[KnobWords]) -> TunedView:
        """Turn knobs of a run while it works; what is not named stays."""
        from smartspider.services.knobs import tune

        return await tune(self.desk, self.principal, number(run_id, "run"), _tuning(knobs))

    async def delete_run(self, run_id: str) -> str | None:
        """Delete a run with its rows, items and logs; why its space could not be given back, if so."""
        from smartspider.wiring.deleting import delete_run, delete_run_of_server
        from smartspider.wiring.folder import DataFolder

        if isinstance(self.premises, DataFolder):
            return await delete_run(self.premises, number(run_id, "run")) or None
        await delete_run_of_server(self.premises, self.desk, self.principal, number(run_id, "run"))
        return None

    async def pause_run(self, run_id: str) -> Started:
        """Hand out nothing more; what is in flight is still stored."""
        from smartspider.services import control

        return run_views.started(await control.pause(self.desk, self.principal, number(run_id, "run")))

    async def resume_run(self, run_id: str) -> Started:
        """Go on with a run that was paused or stopped."""
        from smartspider.services import control

        return run_views.started(await control.resume(self.desk, self.principal, number(run_id, "run")))

    async def stop_run(self, run_id: str) -> Started:
        """End a run after what is in flight; it can be resumed."""
        from smartspider.services import control

        return run_views.started(await control.stop(self.desk, self.principal, number(run_id, "run")))

    async def cancel_run(self, run_id: str) -> Started:
        """End a run for good."""
        from smartspider.services import control

        return run_views.started(await control.cancel(self.desk, self.principal, number(run_id, "run")))

    async def retry_run(self, run_id: str, *, which: Literal["failed", "all"] = "failed") -> Retried:
        """What failed once more in the same run, or everything in a new one."""
        from smartspider.services import control

        again = await control.retry(self.desk, self.principal, number(run_id, "run"), which)
        return run_views.retried(again.run, again.requests)

    async def get_run_metrics(self, run_id: str) -> MetricsView:
        """A run, host by host, worker by worker and step by step, and its knobs."""
        return await runs.metrics(self.desk, number(run_id, "run"))

    async def explain_stall(self, run_id: str) -> StallView:
        """What holds a run back and what to do, or that it moves."""
        from smartspider.services.stall import explain_stall

        return await explain_stall(self.desk, number(run_id, "run"))

    async def list_run_failures(
        self, run_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[FailureView]:
        """Requests that were given up or could not be read, in the order they were found."""
        return await runs.failures(self.desk, number(run_id, "run"), cursor=cursor, limit=limit)

    async def list_run_pages(
        self, run_id: str, *, state: UrlState | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[PageView]:
        """Every request the run knows, in the order they were found."""
        return await runs.pages(self.desk, number(run_id, "run"), state, cursor=cursor, limit=limit)

    async def get_run_receipt(self, run_id: str) -> ReceiptView:
        """How a run treated its hosts."""
        return await runs.receipt(self.desk, number(run_id, "run"))

    async def explain_url(self, url: str, *, run_id: str | None = None) -> ExplanationView:
        """Why a URL was or was not fetched in a run; in the newest unless one is named."""
        from smartspider.wiring.explaining import explain_url

        asked = None if run_id is None else number(run_id, "run")
        return await explain_url(self.premises, url, asked, hint=self.how_to_start)

    async def follow_run(
        self, run_id: str, *, after: int | None = None, follow: bool = False, snapshot: bool = False
    ) -> AsyncGenerator[LiveEvent]:
        """All events of a run after a number, those that were and those that come, until the run is over."""
        ground = Ground(self.premises.store, self.premises.events, self.hub, self.premises.clock)
        status = (lambda run: runs.status(self.desk, run)) if snapshot and after is None else None
        wanted = Wanted(after or 0, is_endless=follow, snapshot=status)
        async with aclosing(follow_run(ground, number(run_id, "run"), wanted)) as messages:
            async for told in messages:
                if told.name == END:
                    return
                if told.text:
                    yield _decode(told.text)


def _tuning(knobs: KnobWords) -> Tuning:
    """Knobs as they are written, checked as the task file is."""
    from pydantic import ValidationError

    from smartspider.taskfile.problems import problems_of, task_invalid
    from smartspider.taskfile.tuning import Knobs

    try:
        return Knobs.model_validate(knobs).tuning()
    except ValidationError as error:
        raise task_invalid(problems_of(error)) from error
