"""Composes the notifications of events."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import NotFound
from smartspider.core.events import RunEvent
from smartspider.core.notifications import NotificationEvent, NotificationTarget
from smartspider.core.redaction.masking import mask_text
from smartspider.core.runs.run import Run
from smartspider.store.runs.store import RunStore

STATES: dict[str, NotificationEvent] = {
    "completed": "run.finished",
    "failed": "run.failed",
    "paused": "run.paused",
}
EVENTS: dict[str, NotificationEvent] = {"cookies.invalid": "cookies.invalid"}
COMPARED = 5
FEWEST = 3
"""Earlier runs needed for a median."""
FEW = 0.5

Put = tuple[int, int, NotificationEvent, int, bytes]
"""A notification to store: target, event, name, run, data."""


class RunSummary(msgspec.Struct, frozen=True):
    """A run as a notification describes it."""

    run_id: str
    task_id: str
    task: str
    version: int
    state: str
    reason: str
    pages: int
    items: int
    failed: int
    missing: int
    duplicates: int
    rejected: int
    started_by: str
    started_at: str | None
    finished_at: str | None


class NotificationBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """The JSON of a notification, without its id."""

    event: NotificationEvent
    at: str
    run: RunSummary
    usual_items: float | None = None
    cookies: str | None = None
    """The id of cookies that were set aside."""
    reason: str | None = None


def usual_items(items: int, earlier: Sequence[int]) -> float | None:
    """Return the median of earlier runs if this run has fewer than half of it, else None."""
    if len(earlier) < FEWEST:
        return None
    usual = float(median(earlier[:COMPARED]))
    return usual if items < usual * FEW else None


async def notifications_of(
    event: RunEvent, targets: Sequence[NotificationTarget], store: RunStore
) -> list[Put]:
    """Return the notifications of an event, one for each subscribed target and name."""
    data = _data(event)
    name = EVENTS.get(event.name) or (STATES.get(data.get("to", "")) if event.name == "run.state" else None)
    if name is None:
        return []
    try:
        run = await store.get_run(event.run_id)
    except NotFound:
        return []
    subscribed = [one for one in targets if one.created_at <= event.at and one.task_id in (None, run.task_id)]
    body = NotificationBody(name, format_time(event.at), _summary(run, event))
    if name == "cookies.invalid":
        reason = mask_text(data.get("reason", ""))
        body = msgspec.structs.replace(body, cookies=str(data.get("set_id", "")), reason=reason)
    put = _put(event, subscribed, body)
    if name == "run.finished" and any("run.few_rows" in one.events for one in subscribed):
        earlier = await store.list_runs(
            task_id=run.task_id, states=["completed"], before=run.id, limit=COMPARED
        )
        usual = usual_items(run.counters.items, [one.counters.items for one in earlier])
        if usual is not None:
            few = NotificationBody("run.few_rows", format_time(event.at), _summary(run, event), usual)
            put += _put(event, subscribed, few)
    return put


def _put(event: RunEvent, targets: Sequence[NotificationTarget], data: NotificationBody) -> list[Put]:
    body = msgspec.json.encode(data)
    return [(one.id, event.id, data.event, event.run_id, body) for one in targets if data.event in one.events]


def _data(event: RunEvent) -> dict[str, Any]:
    found = msgspec.json.decode(event.data)
    return found if isinstance(found, dict) else {}


def _summary(run: Run, event: RunEvent) -> RunSummary:
    """Describe the run as of the event; its counters may be newer."""
    data, counters = _data(event), run.counters
    return RunSummary(
        run_id=str(run.id),
        task_id=str(run.task_id),
        task=run.task_name,
        version=run.task_version,
        state=data.get("to", run.state),
        reason=mask_text(data.get("reason", run.reason)),
        pages=counters.done,
        items=counters.items,
        failed=counters.failed,
        missing=counters.missing,
        duplicates=counters.duplicates,
        rejected=counters.rejected,
        started_by=run.started_by,
        started_at=format_time(run.started_at),
        finished_at=format_time(run.finished_at),
    )
