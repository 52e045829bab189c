"""The duties of a leader, and what they are done with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from smartspider.dedup.url_filter import UrlFilter
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.frontier import Frontier, Replay
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.keeper.disk_space import WatchDiskSpace
from smartspider.keeper.duty import Duty
from smartspider.keeper.frontier.duties import build_frontier_duties
from smartspider.installation.remote_frontier import RemoteFrontier
from smartspider.keeper.health import CheckHealth
from smartspider.keeper.notifications import DeliverNotifications, WriteNotifications
from smartspider.keeper.retention import DeleteExpired, DeleteOldRuns, FreeUrlFilters, TrimEvents, TrimLogs
from smartspider.keeper.runs import CompleteRuns, ReclaimLeases, ReplayOpenRows
from smartspider.keeper.scaling import DecideWorkers, Scalable
from smartspider.keeper.scheduling import FireSchedules, FollowTasks, RetryFirings
from smartspider.services.notifications.notifier import Post
from smartspider.services.retention import Retention, RunSweep
from smartspider.services.timetable import Timetable
from smartspider.store.access.users import UserStore
from smartspider.store.events import EventFeed
from smartspider.store.idempotency import IdempotencyStore
from smartspider.store.logs.store import LogStore
from smartspider.store.notifications import NotificationStore
from smartspider.store.runs.store import RunStore


class KeeperContext(msgspec.Struct, frozen=True):
    """What a keeper looks after."""

    path: Path
    store: RunStore
    frontier: Frontier
    replay: Replay | None
    """Of a frontier in the store itself."""
    events: EventFeed
    logs: LogStore
    users: UserStore
    answers: IdempotencyStore
    notices: NotificationStore
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
    apart: RemoteFrontier | None = None
    """A frontier that is not in the store."""
    layers: tuple[UrlFilter, ...] = ()
    """What is called known before the store is asked."""
    epoch: Callable[[], Awaitable[str]] | None = None
    """Which one the store is in; where there is only one, none."""


def duties_of(estate: KeeperContext) -> list[Duty]:
    """All duties. Each is done at its own pace, and none waits for another."""
    one = estate
    return [
        FireSchedules(one.table),
        RetryFirings(one.table),
        FollowTasks(one.table),
        CompleteRuns(one.store, one.store_now),
        *_build_frontier_duties(one),
        *([] if one.scalable is None else [DecideWorkers(one.scalable)]),
        WriteNotifications(one.notices, one.events, one.store),
        DeliverNotifications(one.notices, one.post, one.clock),
        WatchDiskSpace(one.check_room, one.store, one.notices, one.post, one.clock),
        TrimLogs(one.logs, one.clock, one.kept),
        TrimEvents(one.events, one.store, one.kept),
        DeleteOldRuns(RunSweep(one.store, one.clock, one.kept, one.forget_run), one.clock),
        DeleteExpired(one.users, one.answers, one.notices, one.clock, one.kept),
        FreeUrlFilters(one.layers, one.store, one.epoch),
        CheckHealth(one.path, one.workers, one.clock, one.store_now),
    ]


def _build_frontier_duties(estate: KeeperContext) -> list[Duty]:
    """Where the frontier is apart from the store there is more to do, and sooner."""
    duties: list[Duty] = []
    if estate.apart is not None:
        duties.append(ReclaimLeases(estate.frontier, every_s=1.0))
        duties += build_frontier_duties(estate.apart, estate.store, estate.clock)
    else:
        duties.append(ReclaimLeases(estate.frontier))
    if estate.replay is not None:
        duties.append(ReplayOpenRows(estate.store, estate.frontier, estate.replay))
    return duties
