"""How routes answer that start a run or tell it to do something: 202, and where it can be looked at."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from smartspider.api.answers import LOCATION, answer, answers
from smartspider.core.runs import Run
from smartspider.services.control import Again
from smartspider.services.desk import Desk
from smartspider.services.run_views import retried, started
from smartspider.services.runs import begun
from smartspider.views.runs import Begun, Retried, Started
from smartspider.wiring.desk import desk_of
from smartspider.wiring.house import House

_EXAMPLE = {"run_id": "7", "task_id": "3", "state": "queued", "reason": ""}


def answers_run(description: str) -> dict[str, Any]:
    """What the decorator of such a route says."""
    return answers(Started, description, status=202, example=_EXAMPLE, **LOCATION)


def answers_begun() -> dict[str, Any]:
    """The same for a run that is new."""
    return answers(Begun, "The new run", status=202, example={**_EXAMPLE, "warnings": []}, **LOCATION)


def answers_retry() -> dict[str, Any]:
    """The same for a retry."""
    example = {**_EXAMPLE, "requests": 12}
    return answers(Retried, "The run that tries again", status=202, example=example, **LOCATION)


def show_run(run: Run) -> Response:
    """A run and what it does now."""
    return answer(started(run), 202, _location(run))


async def show_begun(desk: Desk, run: Run) -> Response:
    """A run that is new, with what may surprise its owner and what it waits for."""
    return answer(await begun(desk, run), 202, _location(run))


async def show_made(house: House, subject: str) -> Response:
    """The run that a request made, as `run:7` names it."""
    run = await house.premises.store.get_run(int(subject.removeprefix("run:")))
    return await show_begun(desk_of(house.premises, house.settings), run)


def show_retry(again: Again) -> Response:
    """A run that tries again."""
    return answer(retried(again.run, again.requests), 202, _location(again.run))


def _location(run: Run) -> dict[str, str]:
    return {"Location": f"/api/runs/{run.id}"}
