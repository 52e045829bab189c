"""From what happened to runs to notices for those who want to be told."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from smartspider.core.errors import NotFound
from smartspider.core.live import RunEvent
from smartspider.core.notices import NoticeName, NoticeTarget
from smartspider.core.runs import Run
from smartspider.interfaces.event_feed import EventFeed
from smartspider.interfaces.notice_store import MOST_TARGETS, NoticeStore
from smartspider.interfaces.store import Store
from smartspider.views.times import told_at

PIECE = 1000
STATES: dict[str, NoticeName] = {
    "completed": "run.finished",
    "failed": "run.failed",
    "paused": "run.paused",
}
COMPARED = 5
FEWEST = 3
"""Earlier runs that are needed to say what is usual."""
FEW = 0.5

Put = tuple[int, int, NoticeName, int, bytes]


class RunTold(msgspec.Struct, frozen=True):
    """What a notice tells of a run."""

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


class NoticeData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A notice without its number."""

    event: NoticeName
    at: str
    run: RunTold
    usual_items: float | None = None


def is_few(items: int, earlier: Sequence[int]) -> float | None:
    """What is usual, when these items are far fewer: under half of the median of the runs before."""
    if len(earlier) < FEWEST:
        return None
    usual = float(median(earlier[:COMPARED]))
    return usual if items < usual * FEW else None


async def look(notices: NoticeStore, events: EventFeed, store: Store, *, epoch: int) -> bool:
    """Put notices about a piece of new events into the outbox; True while there may be more."""
    after = await notices.looked_at()
    targets = [one for one in await notices.find_targets(limit=MOST_TARGETS) if one.is_enabled]
    if not targets:
        last = await events.last_id()
        if last > after + PIECE:  # nobody will want to know: targets hear of what comes after them
            await notices.put([], up_to=last, epoch=epoch)
        return False
    piece = await events.since(after, limit=PIECE)
    if not piece:
        return False
    put = [one for event in piece for one in await _notices(event, targets, store)]
    if put or len(piece) >= PIECE // 10:  # a short piece without news is looked at again, and nothing written
        await notices.put(put, up_to=piece[-1].id, epoch=epoch)
    return len(piece) == PIECE


async def _notices(event: RunEvent, targets: Sequence[NoticeTarget], store: Store) -> list[Put]:
    if event.name != "run.state":
        return []
    name = STATES.get(_data(event).get("to", ""))
    if name is None:
        return []
    try:
        run = await store.get_run(event.run_id)
    except NotFound:
        return []
    wanting = [one for one in targets if one.created_at <= event.at and one.task_id in (None, run.task_id)]
    put = _put(event, wanting, NoticeData(name, told_at(event.at), _told(run, event)))
    if name == "run.finished" and any("run.few_rows" in one.events for one in wanting):
        earlier = await store.list_runs(
            task_id=run.task_id, states=["completed"], before=run.id, limit=COMPARED
        )
        usual = is_few(run.counters.items, [one.counters.items for one in earlier])
        if usual is not None:
            few = NoticeData("run.few_rows", told_at(event.at), _told(run, event), usual)
            put += _put(event, wanting, few)
    return put


def _put(event: RunEvent, targets: Sequence[NoticeTarget], data: NoticeData) -> list[Put]:
    body = msgspec.json.encode(data)
    return [(one.id, event.id, data.event, event.run_id, body) for one in targets if data.event in one.events]


def _data(event: RunEvent) -> dict[str, Any]:
    found = msgspec.json.decode(event.data)
    return found if isinstance(found, dict) else {}


def _told(run: Run, event: RunEvent) -> RunTold:
    """The run as the event left it; its counters may be newer."""
    data, counters = _data(event), run.counters
    return RunTold(
        run_id=str(run.id),
        task_id=str(run.task_id),
        task=run.task_name,
        version=run.task_version,
        state=data.get("to", run.state),
        reason=data.get("reason", run.reason),
        pages=counters.done,
        items=counters.items,
        failed=counters.failed,
        missing=counters.missing,
        duplicates=counters.duplicates,
        rejected=counters.rejected,
        started_by=run.started_by,
        started_at=told_at(run.started_at),
        finished_at=told_at(run.finished_at),
    )
