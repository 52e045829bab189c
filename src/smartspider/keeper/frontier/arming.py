"""Arm the shards of a remote frontier: a shard serves only while the leader renews its arming."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from smartspider.core.errors import FrontierUnavailable, FrontierUnfit, NotArmed
from smartspider.core.failpoints import reach
from smartspider.core.runs.run import LEASES_IN
from smartspider.interfaces.frontier_index import ShardState, SlotLead
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.controls import RunControlSender
from smartspider.keeper.frontier.filling import ShardLoader
from smartspider.keeper.frontier.hosts import send_hosts
from smartspider.keeper.frontier.state import MARGIN_S, FrontierState

RENEW_S = 1.0
POLL_S = 0.25
CHECK_S = 60.0
"""Interval of checking the configuration of a serving server, which may be changed."""
LOADING_S = 3.0
"""Time for offering open rows before a shard is armed; the rest is offered while it serves."""
LEAD_S = 0.3
"""Time ahead that slots are granted if store and frontier are fast: as long as a connection may take."""
LEAD_MAX_S = 3.5
LEAD_SPARE = 1.5
LEAD_DECAY = 0.98
OTHER_HISTORY = "the database has a different history and may have lost commits; the shard is refilled"

log = logging.getLogger("smartspider.keeper")


class ArmShard:
    """Arms one shard and renews the arming. Each shard has its own duty, so that none waits for another.

    The process armed last, by this leader or the previous one, continues: no other can serve. Any other
    process first gets all hosts, runs and queue heads, and is armed after the last arming must have
    lapsed. The store records the process before it is armed.
    """

    def __init__(
        self, state: FrontierState, controls: RunControlSender, loader: ShardLoader, shard: int
    ) -> None:
        self.name = f"arming of shard {shard}"
        self._state = state
        self._controls = controls
        self._loader = loader
        self._shard = shard
        self._must_discard = False
        """The content of the shard must be discarded."""
        self._reset(0)

    def _reset(self, epoch: int) -> None:
        self._epoch = epoch
        self._process = ""
        """The serving process."""
        self._last_armed: str | None = None
        """The process armed last and its history, as recorded in the store; None: not read in this term."""
        self._history = ""
        """The history of the store that the shard is filled from."""
        self._sent: tuple[str, float] | None = None
        """The last arming sent in this term: the process, and the time it confirmed. It may have arrived even
        if no answer came back.
        """
        self._has_served = False
        """True if it served in this term."""
        self._loaded = ""
        """The process that holds everything it needs to be armed."""
        self._is_unavailable = False
        self._check_at = 0.0
        self._logged_unfit = ""
        """The last logged warning about the configuration of a serving server."""
        self._lead_s = LEAD_S
        """The lead to grant next."""
        self._granted_s = 0.0 if epoch <= 1 else LEAD_MAX_S
        """The lead granted last; unknown for the previous leader."""
        self.last_slot_at = 0.0
        """End of the last slot granted before the last arming."""

    @property
    def every_s(self) -> float:
        """Shorter while the shard does not serve."""
        return RENEW_S if self._process else POLL_S

    async def do(self, term: Term) -> None:
        """Renew the arming, or arm again."""
        self._state.begin_term(term)
        if term.epoch != self._epoch:
            self._reset(term.epoch)
        confirmed_at = await self._state.confirm_term(term)
        self._follow_history()
        try:
            if self._process:
                await self._renew(term, confirmed_at)
            else:
                await self._try_arm(term, confirmed_at)
        except NotArmed as error:
            self._mark_unavailable(error.message)
        except FrontierUnavailable as error:
            self._mark_unavailable(error.line, is_always_logged=True)
            self._loaded = ""

    def _follow_history(self) -> None:
        """Discard the shard if the history of the store changed: after lost commits ids are assigned again,
        and must not meet the shard's old ones.
        """
        before, self._history = self._history, self._state.history
        if before not in ("", self._history):
            self._must_discard, self._last_armed = True, None
            self._mark_unavailable(OTHER_HISTORY, is_always_logged=True)

    def _stored_name(self, process: str) -> str:
        """Return the recorded form of a process: with the history it is filled from."""
        return f"{process}@{self._history}" if self._history else process

    async def _renew(self, term: Term, confirmed_at: float) -> None:
        try:
            await self._arm(term, self._process, confirmed_at)
        except NotArmed as error:
            self._mark_unavailable(error.message)
            await self._try_arm(term, confirmed_at)
            return
        self._mark_serving(self._process)
        if self._state.now() >= self._check_at:
            await self._require_fit(term, await self._unfit())

    async def _unfit(self) -> FrontierUnfit | None:
        """Return why the server must not be used as configured. Other calls notice whether it answers."""
        self._check_at = self._state.now() + CHECK_S
        try:
            await self._state.index.check(self._shard)
        except FrontierUnfit as error:
            self._must_discard = self._must_discard or error.loses_keys
            return error
        except FrontierUnavailable:
            return None
        return None

    async def _require_fit(self, term: Term, unfit: FrontierUnfit | None) -> None:
        """Refuse a server that evicts keys, which may be gates. Any other unfit server continues with a
        warning: a restart would cost time, and nothing is lost.
        """
        if unfit is not None and unfit.loses_keys:
            with contextlib.suppress(FrontierUnavailable):
                await self._discard(term)
            raise unfit
        problem = unfit.line if unfit is not None else ""
        if problem not in ("", self._logged_unfit):
            log.warning("frontier shard %d is serving, but %s", self._shard, problem)
        self._logged_unfit = problem

    async def _discard(self, term: Term) -> None:
        """Have the shard forget its content before it serves again, under any leader."""
        await self._state.index.disarm(self._shard, term.epoch, forgets=True)
        self._loaded = ""

    async def _arm(self, term: Term, process: str, confirmed_at: float) -> None:
        before, self._sent = self._sent, (process, confirmed_at)
        now = self._state.now()
        served_until = now if before is None else min(now, before[1] + self._state.lapse_s)
        self.last_slot_at = max(self.last_slot_at, served_until + self._granted_s)
        lead = SlotLead(self._lead_s, max(self.last_slot_at - confirmed_at, 0.0))
        self._granted_s = max(self._granted_s, lead.lead_s)  # until it is known which of them applies
        try:
            wanted_s = await self._state.index.arm(self._shard, term.epoch, confirmed_at, lead)
        except FrontierUnavailable as error:
            if isinstance(error, NotArmed) or not error.has_arrived:
                self._sent = before  # it had no effect
            raise
        self._granted_s = lead.lead_s
        self._lead_s = min(max(wanted_s * LEAD_SPARE, self._lead_s * LEAD_DECAY, LEAD_S), LEAD_MAX_S)

    async def _try_arm(self, term: Term, confirmed_at: float) -> None:
        found, unfit = await asyncio.gather(self._state.index.shard_state(self._shard), self._unfit())
        if found is None:
            if unfit is not None:
                raise unfit
            await self._state.index.check(self._shard)  # raises the reason
            self._mark_unavailable("it does not respond")
            return
        await self._require_fit(term, unfit)
        if self._last_armed is None:
            self._last_armed = await self._state.rows.armed_process(self._shard)
            if (history := self._last_armed.partition("@")[2]) != self._history:
                self._must_discard = True
                if history:
                    self._mark_unavailable(OTHER_HISTORY, is_always_logged=True)
        if self._must_discard:
            await self._discard(term)
            self._must_discard = False
            await self._arm_anew(term, found)
        elif self._can_continue(term, found):
            await self._arm(term, found.process, confirmed_at)
            await self._send_controls(term)
            self._mark_serving(found.process)
        else:
            await self._arm_anew(term, found)

    def _can_continue(self, term: Term, found: ShardState) -> bool:
        """Return whether the process has everything it needs and no other can have served since."""
        if self._sent is not None:
            return found.process == self._sent[0] and found.epoch == term.epoch
        return self._stored_name(found.process) == self._last_armed and found.epoch > 0

    async def _arm_anew(self, term: Term, found: ShardState) -> None:
        if self._loaded != found.process:
            await self._load(term)
            self._loaded = found.process
        if self._state.now() < self.available_at(found.process):
            return
        # Changes since the load.
        await send_hosts(self._state, term, self._shard)
        await self._send_controls(term)
        if self._last_armed != self._stored_name(found.process):
            await self._state.rows.record_arming(
                self._shard, self._stored_name(found.process), epoch=term.epoch
            )
            self._last_armed = self._stored_name(found.process)
        confirmed_at = await self._state.confirm_term(term)
        reach("keeper.arm")
        try:
            await self._arm(term, found.process, confirmed_at)
        except NotArmed:
            self._loaded = ""
            raise
        log.info("frontier shard %d is armed (term %d)", self._shard, term.epoch)
        self._loaded = ""
        self._mark_serving(found.process)

    async def _load(self, term: Term) -> None:
        state = self._state
        await state.index.begin(self._shard, term.epoch, state.now())
        await send_hosts(state, term, self._shard)
        turn, controls = await self._controls.read()
        await self._controls.send(term, self._shard, turn, controls, anew=True)
        until = state.now() + LOADING_S
        for control in sorted(controls, key=lambda control: control.state not in LEASES_IN):
            if state.now() >= until:
                state.request_fill(control.run_id)
                continue
            await self._loader.offer(
                term, control.run_id, [self._shard], is_expired=lambda: state.now() >= until
            )
            await asyncio.sleep(0)

    async def _send_controls(self, term: Term) -> None:
        turn, controls = await self._controls.read()
        await self._controls.send(term, self._shard, turn, controls)

    def available_at(self, process: str) -> float:
        """Return when no other process can serve this shard any more."""
        state = self._state
        if self._sent is not None:
            last, confirmed_at = self._sent
            return confirmed_at if process == last else confirmed_at + state.lapse_s + MARGIN_S
        is_ours = self._stored_name(process) == self._last_armed
        if self._epoch == 1 or is_ours:  # this is the first term ever, or this process was armed last
            return state.began_at
        return state.began_at + state.lapse_s + MARGIN_S

    def _mark_serving(self, process: str) -> None:
        self._has_served = True
        self._process = process
        self._state.armed[self._shard] = process
        if self._is_unavailable:
            self._is_unavailable = False
            log.info("frontier shard %d is serving again", self._shard)
            for control in self._state.controls:  # workers may have given up offering
                self._state.request_fill(control.run_id)

    def _mark_unavailable(self, why: str, *, is_always_logged: bool = False) -> None:
        """Mark the shard as not serving. Logged once; before it ever served, only with `is_always_logged`."""
        self._process = ""
        self._state.armed.pop(self._shard, None)
        self._state.counts.pop(self._shard, None)
        if not self._is_unavailable and (self._has_served or is_always_logged):
            log.warning("frontier shard %d is not serving: %s", self._shard, why)
            self._is_unavailable = True
