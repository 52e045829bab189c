"""Following a run: it ends with the run, or when the run is paused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from smartspider.cli.exit_codes import Exit
from smartspider.cli.runs.watching import watch_run
from smartspider.core.tasks import TaskRecord
from smartspider.services.runs.views import status_without_run
from smartspider.views.runs import LiveEvent, StatusView
from smartspider_testing.waiting import WAIT_S


def event(name: str, **data: Any) -> LiveEvent:
    return LiveEvent(None, "7", "", name, msgspec.Raw(msgspec.json.encode(data)))


class Operations:
    """The events of a run, then silence; and its state."""

    def __init__(self, state: Any, *events: LiveEvent, ends: bool = False) -> None:
        self._state = state
        self._events = events
        self._ends = ends

    async def follow_run(self, _run_id: str, **_options: Any) -> AsyncGenerator[LiveEvent]:
        for one in self._events:
            yield one
        if not self._ends:
            await asyncio.Event().wait()

    async def get_run(self, run_id: str) -> StatusView:
        task = TaskRecord(1, "task", "me", 0.0, 0.0, 1)
        return msgspec.structs.replace(status_without_run(task), run_id=run_id, state=self._state)


async def watch(operations: Any) -> Exit:
    async with asyncio.timeout(WAIT_S):
        return await watch_run(operations, "7", as_json=True)


async def test_a_paused_run_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert await watch(Operations("paused", event("run.state", to="paused"))) == Exit.INTERRUPTED
    assert "run resume 7" in capsys.readouterr().err


async def test_a_pause_that_is_over_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    events = [event("run.state", to=state) for state in ("running", "paused", "running", "completed")]
    assert await watch(Operations("completed", *events, ends=True)) == Exit.OK
    assert len(capsys.readouterr().out.splitlines()) == 4
