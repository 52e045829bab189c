"""The duties about a frontier apart from the store."""

from __future__ import annotations

from smartspider.installation.remote_frontier import RemoteFrontier
from smartspider.interfaces.clock import Clock
from smartspider.keeper.duty import Duty
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import RunControlSender, SendRunControls
from smartspider.keeper.frontier.filling import FillWhenWanted, ShardLoader
from smartspider.keeper.frontier.hosts import SendChangedHosts
from smartspider.keeper.frontier.idle_hosts import EvictIdleHosts
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.state import FrontierState
from smartspider.keeper.frontier.sweeping import SweepOpenRows
from smartspider.store.runs.store import RunStore

TERM_S = 5.0
"""Of a keeper on a cluster: a dead one is followed soon, because nothing is handed out without one."""


def build_arming_duties(remote: RemoteFrontier) -> list[Duty]:
    """One for each shard, and nothing else."""
    state = FrontierState(remote)
    return _arming(state, RunControlSender(state), ShardLoader(state))


def build_frontier_duties(remote: RemoteFrontier, store: RunStore, clock: Clock) -> list[Duty]:
    """All of them. What one knows the others use, so they are made together."""
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
