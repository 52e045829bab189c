"""The duty of vouching for a shard: it serves only while the leader says, again and again, that it may."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from smartspider.core.errors import FrontierUnavailable, FrontierUnfit, NotArmed
from smartspider.core.failpoints import reach
from smartspider.core.runs.run import LEASES_IN
from smartspider.interfaces.index import Lead, ShardState
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.controls import RunControlSender
from smartspider.keeper.frontier.filling import RowOffer
from smartspider.keeper.frontier.hosts import send_hosts
from smartspider.keeper.frontier.state import MARGIN_S, FrontierState

RENEW_S = 1.0
LOOK_S = 0.25
CHECK_S = 60.0
"""How often it is looked how a server is set up that serves: somebody may have changed that."""
LOADING_S = 3.0
"""How long open rows are offered before a shard is armed; what is left is offered while it serves."""
LEAD_S = 0.3
"""How far ahead slots are given where store and frontier answer soon: so long a connection may take."""
LEAD_MAX_S = 3.5
LEAD_SPARE = 1.5
LEAD_FADES = 0.98
OTHER_HISTORY = "the database has another history and may have lost commits, so it is filled anew"

log = logging.getLogger("smartspider.keeper")


class ArmShard:
    """Arms one shard and renews that. There is one such duty for each, so that none waits for another.

    The process that was armed last, by this leader or by the one before, goes on: no other can serve. Any
    other gets all hosts, runs and heads first, and is armed when the arming of that one must have lapsed.
    Which one is last is noted in the store before it is armed.
    """

    def __init__(
        self, watch: FrontierState, controls: RunControlSender, offering: RowOffer, shard: int
    ) -> None:
        self.name = f"arming of shard {shard}"
        self._watch = watch
        self._controls = controls
        self._offering = offering
        self._shard = shard
        self._is_doubtful = False
        """What the shard holds cannot be believed any more."""
        self._forget(0)

    def _forget(self, epoch: int) -> None:
        self._epoch = epoch
        self._process = ""
        """That serves."""
        self._noted: str | None = None
        """That was armed last, and in which history, as the store has it; None: not asked in this term."""
        self._history = ""
        """Of the store, that the shard is filled from."""
        self._sent: tuple[str, float] | None = None
        """The last arming that was sent in this term: to which process, and what it told. It may have come
        there also when no answer came back.
        """
        self._has_served = False
        """In this term."""
        self._loaded = ""
        """Process that has all it needs to be armed."""
        self._is_away = False
        self._check_at = 0.0
        self._told_unfit = ""
        """What was said last about a server that serves and should be set up otherwise."""
        self._lead_s = LEAD_S
        """What is allowed next."""
        self._granted_s = 0.0 if epoch <= 1 else LEAD_MAX_S
        """What was allowed last; by the leader before, who knows."""
        self._last_slot_at = 0.0
        """When the last slot is over that was given until the last arming."""

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
        self._follow_history()
        try:
            if self._process:
                await self._renew(term, told)
            else:
                await self._take(term, told)
        except NotArmed as error:
            self._lost(error.message)
        except FrontierUnavailable as error:
            self._lost(error.line, is_news=True)
            self._loaded = ""

    def _follow_history(self) -> None:
        """Where commits may have been lost, ids are given a second time: what the shard holds of the first
        must not meet them.
        """
        before, self._history = self._history, self._watch.history
        if before not in ("", self._history):
            self._is_doubtful, self._noted = True, None
            self._lost(OTHER_HISTORY, is_news=True)

    def _noting(self, process: str) -> str:
        """A process as it is noted: with the history it is filled from."""
        return f"{process}@{self._history}" if self._history else process

    async def _renew(self, term: Term, told: float) -> None:
        try:
            await self._arm(term, self._process, told)
        except NotArmed as error:
            self._lost(error.message)
            await self._take(term, told)
            return
        self._serves(self._process)
        if self._watch.now() >= self._check_at:
            await self._heed(term, await self._unfit())

    async def _unfit(self) -> FrontierUnfit | None:
        """Why the server must not be used as it is set up. Whether it answers is seen by other calls."""
        self._check_at = self._watch.now() + CHECK_S
        try:
            await self._watch.index.check(self._shard)
        except FrontierUnfit as error:
            self._is_doubtful = self._is_doubtful or error.loses_keys
            return error
        except FrontierUnavailable:
            return None
        return None

    async def _heed(self, term: Term, unfit: FrontierUnfit | None) -> None:
        """Refuse a server that throws keys away: gates may be among them. Any other goes on, and it is told
        what is wrong with it: a restart would take longer, and nothing be lost.
        """
        if unfit is not None and unfit.loses_keys:
            with contextlib.suppress(FrontierUnavailable):
                await self._disbelieve(term)
            raise unfit
        words = unfit.line if unfit is not None else ""
        if words not in ("", self._told_unfit):
            log.warning("shard %d of the frontier serves, but %s", self._shard, words)
        self._told_unfit = words

    async def _disbelieve(self, term: Term) -> None:
        """What it holds is forgotten before it serves again, whoever leads then."""
        await self._watch.index.disarm(self._shard, term.epoch, forgets=True)
        self._loaded = ""

    async def _arm(self, term: Term, process: str, told: float) -> None:
        before, self._sent = self._sent, (process, told)
        now = self._watch.now()
        served_until = now if before is None else min(now, before[1] + self._watch.lapse_s)
        self._last_slot_at = max(self._last_slot_at, served_until + self._granted_s)
        lead = Lead(self._lead_s, max(self._last_slot_at - told, 0.0))
        self._granted_s = max(self._granted_s, lead.lead_s)  # as long as nobody knows which of them holds
        try:
            wanted_s = await self._watch.index.arm(self._shard, term.epoch, told, lead)
        except FrontierUnavailable as error:
            if isinstance(error, NotArmed) or not error.has_arrived:
                self._sent = before  # it changed nothing anywhere
            raise
        self._granted_s = lead.lead_s
        self._lead_s = min(max(wanted_s * LEAD_SPARE, self._lead_s * LEAD_FADES, LEAD_S), LEAD_MAX_S)

    async def _take(self, term: Term, told: float) -> None:
        state, unfit = await asyncio.gather(self._watch.index.look_at(self._shard), self._unfit())
        if state is None:
            if unfit is not None:
                raise unfit
            await self._watch.index.check(self._shard)  # raises why
            self._lost("it does not answer")
            return
        await self._heed(term, unfit)
        if self._noted is None:
            self._noted = await self._watch.rows.armed_process(self._shard)
            if (history := self._noted.partition("@")[2]) != self._history:
                self._is_doubtful = True
                if history:
                    self._lost(OTHER_HISTORY, is_news=True)
        if self._is_doubtful:
            await self._disbelieve(term)
            self._is_doubtful = False
            await self._arm_anew(term, state)
        elif self._goes_on(term, state):
            await self._arm(term, state.process, told)
            await self._tell_runs(term)
            self._serves(state.process)
        else:
            await self._arm_anew(term, state)

    def _goes_on(self, term: Term, state: ShardState) -> bool:
        """Whether the process has all it needs, and no other can have served since it did."""
        if self._sent is not None:
            return state.process == self._sent[0] and state.epoch == term.epoch
        return self._noting(state.process) == self._noted and state.epoch > 0

    async def _arm_anew(self, term: Term, state: ShardState) -> None:
        if self._loaded != state.process:
            await self._load(term)
            self._loaded = state.process
        if self._watch.now() < self._free_at(state.process):
            return
        # What changed while it was waited for.
        await send_hosts(self._watch, term, self._shard)
        await self._tell_runs(term)
        if self._noted != self._noting(state.process):
            await self._watch.rows.arming(self._shard, self._noting(state.process), epoch=term.epoch)
            self._noted = self._noting(state.process)
        told = await self._watch.sure_at(term)
        reach("keeper.arm")
        try:
            await self._arm(term, state.process, told)
        except NotArmed:
            self._loaded = ""
            raise
        log.info("shard %d of the frontier is armed, term %d", self._shard, term.epoch)
        self._loaded = ""
        self._serves(state.process)

    async def _load(self, term: Term) -> None:
        watch = self._watch
        await watch.index.begin(self._shard, term.epoch, watch.now())
        await send_hosts(watch, term, self._shard)
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
        watch = self._watch
        if self._sent is not None:
            last, told = self._sent
            return told if process == last else told + watch.lapse_s + MARGIN_S
        is_ours = self._noting(process) == self._noted
        if self._epoch == 1 or is_ours:  # nobody ever led before, or this one was armed last
            return watch.took_at
        return watch.took_at + watch.lapse_s + MARGIN_S

    def _serves(self, process: str) -> None:
        self._has_served = True
        self._process = process
        self._watch.armed[self._shard] = process
        if self._is_away:
            self._is_away = False
            log.info("shard %d of the frontier serves again", self._shard)
            for control in self._watch.controls:  # some who had to offer may have given up
                self._watch.want(control.run_id)

    def _lost(self, why: str, *, is_news: bool = False) -> None:
        """It serves nobody for now; that is told once, and where it never served yet only if it is news."""
        self._process = ""
        self._watch.armed.pop(self._shard, None)
        self._watch.counts.pop(self._shard, None)
        if not self._is_away and (self._has_served or is_news):
            log.warning("shard %d of the frontier does not serve: %s", self._shard, why)
            self._is_away = True
