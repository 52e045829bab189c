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

TELL_S = 0.5
IDLE_S = 1.0
BEGINNING_S = 0.25


class RunControlSender:
    """Tells shards about runs; what was read later is never followed by what was read before."""

    def __init__(self, watch: FrontierState) -> None:
        self._watch = watch
        self._turns = count(1)
        self._locks = [asyncio.Lock() for _ in range(watch.index.shards)]
        self._told: dict[int, tuple[int, int, list[RunControl]]] = {}

    async def read(self) -> tuple[int, list[RunControl]]:
        """All runs, and the turn in which they were read."""
        turn = next(self._turns)
        return turn, await self._watch.rows.controls()

    async def tell(
        self, term: Term, shard: int, turn: int, controls: Sequence[RunControl], *, anew: bool = False
    ) -> None:
        """Tell a shard, unless it knows, or was told by a later turn."""
        mine = [self._part(control, shard) for control in controls]
        async with self._locks[shard]:
            epoch, newest, known = self._told.get(shard, (0, 0, []))
            if turn < newest:
                return
            if anew or epoch != term.epoch or known != mine:
                self._told.pop(shard, None)  # until it is known again what the shard knows
                if {one.run_id for one in known} - {one.run_id for one in mine}:
                    reach("keeper.drop")
                await self._watch.index.set_controls(shard, term.epoch, mine)
            self._told[shard] = term.epoch, turn, mine

    def _part(self, control: RunControl, shard: int) -> RunControl:
        return part_of(control, shard, self._watch.counts, self._watch.index.shards)


def part_of(
    control: RunControl, shard: int, counts: Mapping[int, Mapping[int, IndexCounts]], shards: int
) -> RunControl:
    """A run as one of several shards is told: what it may have in flight is divided among those with work.

    Each gets one at least, so that work that appears somewhere begins there.
    """
    if shards == 1:
        return control
    working = sorted(
        number
        for number, held in counts.items()
        if (one := held.get(control.run_id)) is not None and one.queued + one.waiting + one.leased
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

    def __init__(self, watch: FrontierState, controls: RunControlSender) -> None:
        self._watch = watch
        self._controls = controls

    @property
    def every_s(self) -> float:
        """Seldom while there is no run; often while one waits to begin, for nothing of it is handed out
        before the shards know that it has.
        """
        controls = self._watch.controls
        if not controls:
            return IDLE_S
        return BEGINNING_S if any(one.state == "queued" for one in controls) else TELL_S

    async def do(self, term: Term) -> None:
        """All shards side by side; one that fails is seen to by its arming."""
        watch = self._watch
        watch.attend(term)
        shards = list(watch.armed)
        if not shards:
            return
        turn, controls = await self._controls.read()
        answers = await gather_shards(self._controls.tell(term, shard, turn, controls) for shard in shards)
        known = {control.run_id: control.state for control in watch.controls}
        for control in controls:
            before = known.get(control.run_id)
            if before is None or (control.state == "queued" and before != "queued"):
                watch.want(control.run_id)
        if all(answer is None for answer in answers):
            watch.controls = controls
