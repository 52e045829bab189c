"""The list of duties about a remote frontier."""

from __future__ import annotations

from smartspider.installation.installation import RemoteFrontier
from smartspider.interfaces.clock import Clock
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import RunControlSender, SendRunControls
from smartspider.keeper.frontier.filling import FillWhenWanted, ShardLoader, SweepOpenRows
from smartspider.keeper.frontier.hosts import EvictIdleHosts, SendChangedHosts
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.state import FrontierState
from smartspider.keeper.keeper import Duty
from smartspider.store.runs.store import RunStore

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
