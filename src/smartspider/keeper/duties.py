"""The lists of the leader's duties, also those about a remote frontier."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from smartspider.installation.installation import Installation, RemoteFrontier
from smartspider.interfaces.clock import Clock
from smartspider.keeper.cookies import CheckCookies, CheckSet
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import RunControlSender, SendRunControls
from smartspider.keeper.frontier.filling import FillWhenWanted, ShardLoader, SweepOpenRows
from smartspider.keeper.frontier.hosts import EvictIdleHosts, SendChangedHosts
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.state import FrontierState
from smartspider.keeper.health import CheckHealth, EndStoppedClients, FollowClock, WatchDiskSpace
from smartspider.keeper.keeper import Duty
from smartspider.keeper.messages import MemoryOutbox
from smartspider.keeper.notifications import DeliverNotifications, WriteNotifications
from smartspider.keeper.retention import (
    DeleteExpired,
    DeleteOldRuns,
    FreeUrlFilters,
    RunSweep,
    TrimEvents,
    TrimLogs,
)
from smartspider.keeper.runs import CompleteRuns, ReclaimLeases, ReplayOpenRows
from smartspider.keeper.scaling import DecideWorkers
from smartspider.keeper.scheduling import CorrectSchedules, FireSchedules, FollowTasks, RetryFirings
from smartspider.services.notifications.notifier import Notifier
from smartspider.store.runs.store import RunStore

DeleteRun = Callable[[int], Awaitable[None]]


def build_duties(installation: Installation, delete_run: DeleteRun, check_cookies: CheckSet) -> list[Duty]:
    """Return all duties. Each runs at its own interval, and none waits for another.

    `delete_run` deletes a run with its files, `check_cookies` checks a set of cookies.
    """
    one = installation
    retention, deliver = one.settings.retention, Notifier(one).deliver
    outbox = partial(MemoryOutbox, one.notifications, deliver, one.clock)
    return [
        FireSchedules(one),
        RetryFirings(one),
        CorrectSchedules(one),
        FollowTasks(one),
        CompleteRuns(one.store, one.leadership.now),
        *_frontier_duties(one),
        DecideWorkers(one.scaling, one.demand, one.workers, one.leadership.now, one.settings.scaling),
        WriteNotifications(one),
        DeliverNotifications(one.notifications, deliver, one.clock),
        WatchDiskSpace(one.check_room, one.store, outbox(), one.clock),
        CheckCookies(one.vault.cookies, check_cookies, outbox(), one.clock),
        TrimLogs(one.logs, one.clock, retention),
        TrimEvents(one.events, one.store, retention),
        DeleteOldRuns(RunSweep(one.store, one.clock, retention, delete_run), one.clock),
        DeleteExpired(one.users, one.idempotency, one.notifications, one.clock, retention),
        *_filter_duties(one),
        FollowClock(one.store_clock),
        CheckHealth(one.path, one.workers, one.store_clock, one.leadership.now),
    ]


def _filter_duties(installation: Installation) -> list[Duty]:
    """Return the duty about URL filters, if the installation has any."""
    filters = [one for one in (installation.filters.exact, installation.filters.lossy) if one is not None]
    return [FreeUrlFilters(filters, installation.store, installation.stored_urls.epoch)] if filters else []


def _frontier_duties(installation: Installation) -> list[Duty]:
    """Return the duties about the frontier: a remote one needs more of them, and more often."""
    duties: list[Duty] = []
    if installation.remote_frontier is not None:
        duties.append(ReclaimLeases(installation.frontier, every_s=1.0))
        duties += build_frontier_duties(installation.remote_frontier, installation.store, installation.clock)
    else:
        duties.append(ReclaimLeases(installation.frontier))
    if installation.end_stopped_clients is not None:
        duties.append(EndStoppedClients(installation.end_stopped_clients))
    if installation.replay is not None:
        duties.append(ReplayOpenRows(installation.store, installation.frontier, installation.replay))
    return duties


TERM_S = 5.0
"""The term of a keeper on a cluster: short, because nothing is leased without a leader."""


def build_arming_duties(remote: RemoteFrontier) -> list[Duty]:
    """Return the arming duties, one per shard."""
    state = FrontierState(remote)
    return _arming(state, RunControlSender(state), ShardLoader(state))


def build_frontier_duties(remote: RemoteFrontier, store: RunStore, clock: Clock) -> list[Duty]:
    """Return all duties about the frontier; they share one state."""
    state = FrontierState(remote)
    controls, loader = RunControlSender(state), ShardLoader(state)
    return [
        *_arming(state, controls, loader),
        SendRunControls(state, controls),
        FillWhenWanted(state, loader),
        CountLoads(state, store.live_runs, clock),
        SendChangedHosts(state),
        SweepOpenRows(state, loader, clock),
        EvictIdleHosts(state, clock),
    ]


def _arming(state: FrontierState, controls: RunControlSender, loader: ShardLoader) -> list[Duty]:
    return [ArmShard(state, controls, loader, shard) for shard in range(state.index.shards)]
