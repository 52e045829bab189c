"""The duties of a leader, and what they are done with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from smartspider.interfaces.answer_store import AnswerStore
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.event_feed import EventFeed
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.log_store import LogStore
from smartspider.interfaces.notice_store import NoticeStore
from smartspider.interfaces.replay import Replay
from smartspider.interfaces.seen import Seen
from smartspider.interfaces.store import Store
from smartspider.interfaces.user_store import UserStore
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.keeper.duty import Duty
from smartspider.keeper.frontier.duties import frontier_duties
from smartspider.keeper.frontier.watch import Apart
from smartspider.keeper.health import CheckHealth
from smartspider.keeper.runs import Complete, Reclaim, ReplayOpen
from smartspider.keeper.scaling import DecideWorkers, Scalable
from smartspider.keeper.scheduling import FireSchedules, FollowTasks, RetryFirings
from smartspider.keeper.store_watch import WatchStore
from smartspider.keeper.telling import DeliverNotices, WriteNotices
from smartspider.keeper.tidying import ForgetRuns, FreeKnown, SweepOld, TrimEvents, TrimLogs
from smartspider.services.post import Post
from smartspider.services.retention import Retention, RunSweep
from smartspider.services.timetable import Timetable


class Estate(msgspec.Struct, frozen=True):
    """What a keeper looks after."""

    path: Path
    store: Store
    frontier: Frontier
    replay: Replay | None
    """Of a frontier in the store itself."""
    events: EventFeed
    logs: LogStore
    users: UserStore
    answers: AnswerStore
    notices: NoticeStore
    workers: WorkerRegistry
    clock: Clock
    table: Timetable
    post: Post
    kept: Retention
    forget_run: Callable[[int], Awaitable[None]]
    store_now: Callable[[], float]
    check_room: Callable[[], Awaitable[None]]
    """Raises `StoreFull` when the disk of the store is."""
    scalable: Scalable | None = None
    """What the number of workers follows."""
    apart: Apart | None = None
    """A frontier that is not in the store."""
    layers: tuple[Seen, ...] = ()
    """What is called known before the store is asked."""
    epoch: Callable[[], Awaitable[str]] | None = None
    """Which one the store is in; where there is only one, none."""


def duties_of(estate: Estate) -> list[Duty]:
    """All duties. Each is done at its own pace, and none waits for another."""
    one = estate
    return [
        FireSchedules(one.table),
        RetryFirings(one.table),
        FollowTasks(one.table),
        Complete(one.store, one.store_now),
        *_frontier_duties(one),
        *([] if one.scalable is None else [DecideWorkers(one.scalable)]),
        WriteNotices(one.notices, one.events, one.store),
        DeliverNotices(one.notices, one.post, one.clock),
        WatchStore(one.check_room, one.store, one.notices, one.post, one.clock),
        TrimLogs(one.logs, one.clock, one.kept),
        TrimEvents(one.events, one.store, one.kept),
        ForgetRuns(RunSweep(one.store, one.clock, one.kept, one.forget_run), one.clock),
        SweepOld(one.users, one.answers, one.notices, one.clock, one.kept),
        FreeKnown(one.layers, one.store, one.epoch),
        CheckHealth(one.path, one.workers, one.clock, one.store_now),
    ]


def _frontier_duties(estate: Estate) -> list[Duty]:
    """Where the frontier is apart from the store there is more to do, and sooner."""
    duties: list[Duty] = []
    if estate.apart is not None:
        duties.append(Reclaim(estate.frontier, every_s=1.0))
        duties += frontier_duties(estate.apart, estate.store, estate.clock)
    else:
        duties.append(Reclaim(estate.frontier))
    if estate.replay is not None:
        duties.append(ReplayOpen(estate.store, estate.frontier, estate.replay))
    return duties
