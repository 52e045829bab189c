"""The duty of telling the frontier which runs there are and how they are to be worked on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count

import msgspec

from smartspider.core.failpoints import reach
from smartspider.core.frontier.updates import RunControl
from smartspider.interfaces.index import IndexCounts
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

SEND_S = 0.5
IDLE_S = 1.0
BEGINNING_S = 0.25


class RunControlSender:
    """Tells shards about runs; what was read later is never followed by what was read before."""

    def __init__(self, state: FrontierState) -> None:
        self._state = state
        self._turns = count(1)
        self._locks = [asyncio.Lock() for _ in range(state.index.shards)]
        self._sent: dict[int, tuple[int, int, list[RunControl]]] = {}

    async def read(self) -> tuple[int, list[RunControl]]:
        """All runs, and the turn in which they were read."""
        turn = next(self._turns)
        return turn, await self._state.rows.controls()

    async def send(
        self, term: Term, shard: int, turn: int, controls: Sequence[RunControl], *, anew: bool = False
    ) -> None:
        """Tell a shard, unless it knows, or was told by a later turn."""
        own = [self._share_for(control, shard) for control in controls]
        async with self._locks[shard]:
            epoch, newest, known = self._sent.get(shard, (0, 0, []))
            if turn < newest:
                return
            if anew or epoch != term.epoch or known != own:
                self._sent.pop(shard, None)  # until it is known again what the shard knows
                if {one.run_id for one in known} - {one.run_id for one in own}:
                    reach("keeper.drop")
                await self._state.index.set_controls(shard, term.epoch, own)
            self._sent[shard] = term.epoch, turn, own

    def _share_for(self, control: RunControl, shard: int) -> RunControl:
        return share_of(control, shard, self._state.counts, self._state.index.shards)


def share_of(
    control: RunControl, shard: int, counts: Mapping[int, Mapping[int, IndexCounts]], shards: int
) -> RunControl:
    """A run as one of several shards is told: what it may have in flight is divided among those with work.

    Each gets one at least, so that work that appears somewhere begins there.
    """
    if shards == 1:
        return control
    working = sorted(
        number
        for number, run_counts in counts.items()
        if (one := run_counts.get(control.run_id)) is not None and one.queued + one.waiting + one.leased
    )
    if shard not in working:
        return msgspec.structs.replace(control, concurrency=1)
    share, rest = divmod(control.concurrency, len(working))
    return msgspec.structs.replace(
        control, concurrency=max(1, share + (1 if working.index(shard) < rest else 0))
    )


class SendRunControls:
    """Tells every shard that serves which runs there are, and notices those that are new."""

    name = "controls"

    def __init__(self, state: FrontierState, controls: RunControlSender) -> None:
        self._state = state
        self._controls = controls

    @property
    def every_s(self) -> float:
        """Seldom while there is no run; often while one waits to begin, for nothing of it is handed out
        before the shards know that it has.
        """
        controls = self._state.controls
        if not controls:
            return IDLE_S
        return BEGINNING_S if any(one.state == "queued" for one in controls) else SEND_S

    async def do(self, term: Term) -> None:
        """All shards side by side; one that fails is seen to by its arming."""
        state = self._state
        state.begin_term(term)
        shards = list(state.armed)
        if not shards:
            return
        turn, controls = await self._controls.read()
        answers = await gather_shards(self._controls.send(term, shard, turn, controls) for shard in shards)
        known = {control.run_id: control.state for control in state.controls}
        for control in controls:
            before = known.get(control.run_id)
            if before is None or (control.state == "queued" and before != "queued"):
                state.request_fill(control.run_id)
        if all(answer is None for answer in answers):
            state.controls = controls
