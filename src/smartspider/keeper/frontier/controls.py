"""Send run controls to the frontier: the runs, their states and settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count

import msgspec

from smartspider.core.failpoints import reach
from smartspider.core.frontier.updates import RunControl
from smartspider.interfaces.frontier_index import IndexCounts
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

SEND_S = 0.5
IDLE_S = 1.0
BEGINNING_S = 0.25


class RunControlSender:
    """Sends run controls to shards. A later read is never overwritten by an earlier one."""

    def __init__(self, state: FrontierState) -> None:
        self._state = state
        self._turns = count(1)
        self._locks = [asyncio.Lock() for _ in range(state.index.shards)]
        self._sent: dict[int, tuple[int, int, list[RunControl]]] = {}

    async def read(self) -> tuple[int, list[RunControl]]:
        """Read all run controls; return them with the number of the read."""
        turn = next(self._turns)
        return turn, await self._state.rows.controls()

    async def send(
        self, term: Term, shard: int, turn: int, controls: Sequence[RunControl], *, anew: bool = False
    ) -> None:
        """Send controls to a shard, unless it has them or got those of a later read."""
        own = [self._share_for(control, shard) for control in controls]
        async with self._locks[shard]:
            epoch, newest, known = self._sent.get(shard, (0, 0, []))
            if turn < newest:
                return
            if anew or epoch != term.epoch or known != own:
                self._sent.pop(shard, None)  # unknown until the call succeeds
                if {one.run_id for one in known} - {one.run_id for one in own}:
                    reach("keeper.drop")
                await self._state.index.set_controls(shard, term.epoch, own)
            self._sent[shard] = term.epoch, turn, own

    def _share_for(self, control: RunControl, shard: int) -> RunControl:
        return share_of(control, shard, self._state.counts, self._state.index.shards)


def share_of(
    control: RunControl, shard: int, counts: Mapping[int, Mapping[int, IndexCounts]], shards: int
) -> RunControl:
    """Return the control of a run for one of several shards: its concurrency is divided among shards with
    work.

    Each gets at least one, so that new work starts anywhere.
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
    """Sends run controls to every serving shard, and requests a fill for new runs."""

    name = "controls"

    def __init__(self, state: FrontierState, controls: RunControlSender) -> None:
        self._state = state
        self._controls = controls

    @property
    def every_s(self) -> float:
        """Longer while there is no run; shorter while one is queued, since none of its requests is leased
        before the shards know that it started.
        """
        controls = self._state.controls
        if not controls:
            return IDLE_S
        return BEGINNING_S if any(one.state == "queued" for one in controls) else SEND_S

    async def do(self, term: Term) -> None:
        """Send to all shards concurrently; the arming handles one that fails."""
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
