"""The duty of vouching for a shard: it serves only while the leader says, again and again, that it may."""

from __future__ import annotations

import asyncio
import logging

from smartspider.core.errors import FrontierUnavailable, NotArmed
from smartspider.core.failpoints import reach
from smartspider.core.runs import LEASES_IN
from smartspider.interfaces.index import ShardState
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.controls import Controls
from smartspider.keeper.frontier.filling import Offering
from smartspider.keeper.frontier.hosts import tell_hosts
from smartspider.keeper.frontier.watch import MARGIN_S, Watch

RENEW_S = 1.0
LOOK_S = 0.25
LOADING_S = 3.0
"""How long open rows are offered before a shard is armed; what is left is offered while it serves."""

log = logging.getLogger("smartspider.keeper")


class ArmShard:
    """Arms one shard and renews that. There is one such duty for each, so that none waits for another.

    A process that was armed by this leader, or by the one before and still serves, goes on. Any other gets
    all hosts, runs and heads first, and is armed when the arming of its predecessor must have lapsed.
    """

    def __init__(self, watch: Watch, controls: Controls, offering: Offering, shard: int) -> None:
        self.name = f"arming of shard {shard}"
        self._watch = watch
        self._controls = controls
        self._offering = offering
        self._shard = shard
        self._forget(0)

    def _forget(self, epoch: int) -> None:
        self._epoch = epoch
        self._renewed_at: float | None = None
        """What the last renewal told; None: none in this term."""
        self._process = self._last_process = ""
        """That serves, and that was the last to do so in this term."""
        self._loaded = ""
        """Process that has all it needs to be armed."""
        self._is_away = False

    @property
    def every_s(self) -> float:
        """Often while it does not serve: somebody waits for that."""
        return RENEW_S if self._process else LOOK_S

    async def do(self, term: Term) -> None:
        """Renew, or begin anew."""
        self._watch.attend(term)
        if term.epoch != self._epoch:
            self._forget(term.epoch)
        told = await self._watch.sure_at(term)
        try:
            if self._process:
                await self._renew(term, told)
            else:
                await self._take(term, told)
        except NotArmed as error:
            self._lost(error.message)
        except FrontierUnavailable as error:
            self._lost(error.message)
            self._loaded = ""

    async def _renew(self, term: Term, told: float) -> None:
        try:
            await self._watch.index.arm(self._shard, term.epoch, told)
        except NotArmed as error:
            self._lost(error.message)
            await self._take(term, told)
            return
        self._serves(told, self._process)

    async def _take(self, term: Term, told: float) -> None:
        state = await self._watch.index.look_at(self._shard)
        if state is None:
            self._lost("it does not answer")
        elif self._goes_on(term, state):
            await self._watch.index.arm(self._shard, term.epoch, told)
            await self._tell_runs(term)
            self._serves(told, state.process)
        else:
            await self._arm_anew(term, state)

    def _goes_on(self, term: Term, state: ShardState) -> bool:
        """Whether the process has all it needs, and no other can have served since it did."""
        if self._renewed_at is None:
            return state.is_armed
        return state.process == self._last_process and state.epoch == term.epoch

    async def _arm_anew(self, term: Term, state: ShardState) -> None:
        if self._loaded != state.process:
            await self._load(term)
            self._loaded = state.process
        if self._watch.now() < self._free_at(state.process):
            return
        # What changed while it was waited for.
        await tell_hosts(self._watch, term, self._shard)
        await self._tell_runs(term)
        reach("keeper.arm")
        told = await self._watch.sure_at(term)
        try:
            await self._watch.index.arm(self._shard, term.epoch, told)
        except NotArmed:
            self._loaded = ""
            raise
        log.info("shard %d of the frontier is armed, term %d", self._shard, term.epoch)
        self._loaded = ""
        self._serves(told, state.process)

    async def _load(self, term: Term) -> None:
        watch = self._watch
        await watch.index.begin(self._shard, term.epoch)
        await tell_hosts(watch, term, self._shard)
        turn, controls = await self._controls.read()
        await self._controls.tell(term, self._shard, turn, controls, anew=True)
        until = watch.now() + LOADING_S
        for control in sorted(controls, key=lambda control: control.state not in LEASES_IN):
            if watch.now() >= until:
                watch.want(control.run_id)
                continue
            await self._offering.offer(
                term, control.run_id, [self._shard], is_over=lambda: watch.now() >= until
            )
            await asyncio.sleep(0)

    async def _tell_runs(self, term: Term) -> None:
        turn, controls = await self._controls.read()
        await self._controls.tell(term, self._shard, turn, controls)

    def _free_at(self, process: str) -> float:
        """When no other process can serve this shard any more."""
        if self._renewed_at is None and self._epoch == 1:  # nobody ever led before
            return self._watch.took_at
        if self._renewed_at is None:
            return self._watch.took_at + self._watch.lapse_s + MARGIN_S
        if process == self._last_process:
            return self._renewed_at
        return self._renewed_at + self._watch.lapse_s + MARGIN_S

    def _serves(self, told: float, process: str) -> None:
        self._renewed_at = told
        self._process = self._last_process = process
        self._watch.armed[self._shard] = process
        if self._is_away:
            self._is_away = False
            log.info("shard %d of the frontier serves again", self._shard)
            for control in self._watch.controls:  # some who had to offer may have given up
                self._watch.want(control.run_id)

    def _lost(self, why: str) -> None:
        self._process = ""
        self._watch.armed.pop(self._shard, None)
        self._watch.counts.pop(self._shard, None)
        if not self._is_away and self._renewed_at is not None:
            log.warning("shard %d of the frontier does not serve: %s", self._shard, why)
            self._is_away = True
