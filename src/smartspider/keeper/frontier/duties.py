"""The duties about a frontier apart from the store."""

from __future__ import annotations

from smartspider.interfaces.clock import Clock
from smartspider.interfaces.store import Store
from smartspider.keeper.duty import Duty
from smartspider.keeper.frontier.arming import ArmShard
from smartspider.keeper.frontier.controls import Controls, TellControls
from smartspider.keeper.frontier.filling import FillWhenWanted, Offering
from smartspider.keeper.frontier.hosts import TellChanged
from smartspider.keeper.frontier.loads import CountLoads
from smartspider.keeper.frontier.resting import LetHostsGo
from smartspider.keeper.frontier.sweeping import SweepOpen
from smartspider.keeper.frontier.watch import Apart, Watch

TERM_S = 5.0
"""Of a keeper on a cluster: a dead one is followed soon, because nothing is handed out without one."""


def arming_duties(apart: Apart) -> list[Duty]:
    """One for each shard, and nothing else."""
    watch = Watch(apart)
    return _arming(watch, Controls(watch), Offering(watch))


def frontier_duties(apart: Apart, store: Store, clock: Clock) -> list[Duty]:
    """All of them. What one knows the others use, so they are made together."""
    watch = Watch(apart)
    controls, offering = Controls(watch), Offering(watch)
    return [
        *_arming(watch, controls, offering),
        TellControls(watch, controls),
        FillWhenWanted(watch, offering),
        CountLoads(watch, store.live_runs, clock),
        TellChanged(watch),
        SweepOpen(watch, offering, clock),
        LetHostsGo(watch, clock),
    ]


def _arming(watch: Watch, controls: Controls, offering: Offering) -> list[Duty]:
    return [ArmShard(watch, controls, offering, shard) for shard in range(watch.index.shards)]
