"""The duties about a frontier apart from the store."""

from __future__ import annotations

from smartspider.interfaces.clock import Clock
from smartspider.keeper.duty import Duty
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import RunControlSender, SendRunControls
from smartspider.keeper.frontier.filling import FillWhenWanted, RowOffer
from smartspider.keeper.frontier.hosts import SendChangedHosts
from smartspider.keeper.frontier.idle_hosts import EvictIdleHosts
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.installation.remote_frontier import RemoteFrontier
from smartspider.keeper.frontier.state import FrontierState
from smartspider.keeper.frontier.sweeping import SweepOpenRows
from smartspider.store.runs.store import RunStore

TERM_S = 5.0
"""Of a keeper on a cluster: a dead one is followed soon, because nothing is handed out without one."""


def arming_duties(apart: RemoteFrontier) -> list[Duty]:
    """One for each shard, and nothing else."""
    watch = FrontierState(apart)
    return _arming(watch, RunControlSender(watch), RowOffer(watch))


def frontier_duties(apart: RemoteFrontier, store: RunStore, clock: Clock) -> list[Duty]:
    """All of them. What one knows the others use, so they are made together."""
    watch = FrontierState(apart)
    controls, offering = RunControlSender(watch), RowOffer(watch)
    return [
        *_arming(watch, controls, offering),
        SendRunControls(watch, controls),
        FillWhenWanted(watch, offering),
        CountLoads(watch, store.live_runs, clock),
        SendChangedHosts(watch),
        SweepOpenRows(watch, offering, clock),
        EvictIdleHosts(watch, clock),
    ]


def _arming(watch: FrontierState, controls: RunControlSender, offering: RowOffer) -> list[Duty]:
    return [ArmShard(watch, controls, offering, shard) for shard in range(watch.index.shards)]
