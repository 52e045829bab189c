"""Asking shards for work: how a hand is divided among them and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from smartspider.backends.redis.calls import ids
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import SmartSpiderError
from smartspider.core.frontier.lease import FencingToken, SendWindow
from smartspider.core.runs.row_ids import run_of
from smartspider.interfaces.clock import Clock

ROUNDS = 3
"""Times that shards which gave all they were asked for are asked for the rest."""
SLACK_MAX_S = 2.0
AHEAD_MAX_S = 1.0
FADES = 0.8


class Grant(msgspec.Struct, frozen=True, gc=False):
    """A request that was handed out; what it is about is in the store."""

    token: FencingToken
    shard: int
    url_id: int
    host: str
    """Whose gate it came through."""
    window: SendWindow
    deadline_at: float
    is_alone: bool


class Asking(msgspec.Struct, frozen=True):
    """Who asks for what."""

    worker_id: int
    want: int
    lease_s: float
    runs: Sequence[int]
    own: bytes = b""
    """The parts of all hosts that it takes first."""


class Harvest(msgspec.Struct):
    """What shards handed out."""

    grants: list[Grant] = []
    now: float = 0.0
    next_at: float | None = None


class Pace:
    """How long calls and lookups took of late: the worst, fading.

    A window is kept wide enough for a caller who does not know better than this when the server answered.
    """

    def __init__(self) -> None:
        self.slack_s = 0.0
        self.ahead_s = 0.0

    def called(self, seconds: float) -> None:
        """A call went and came back."""
        self.slack_s = min(max(seconds, self.slack_s * FADES), SLACK_MAX_S)

    def looked_up(self, seconds: float) -> None:
        """What was handed out was looked up."""
        self.ahead_s = min(max(seconds, self.ahead_s * FADES), AHEAD_MAX_S)


class Turns:
    """Who is next where a place cannot be divided: the run that had least, by its weight."""

    def __init__(self) -> None:
        self._served: dict[int, float] = {}
        self._turn = 0.0

    @property
    def turn(self) -> float:
        """How far the run had got that was served last."""
        return self._turn

    def served(self, run_id: int) -> float:
        """What a run had. None falls behind by more than one, so none gathers a claim."""
        return max(self._served.get(run_id, 0.0), self._turn - 1.0)

    def charge(self, runs: Sequence[int], got: Mapping[int, float]) -> None:
        """Runs had so much more of what their weights allow; all but those asked for are forgotten."""
        served = {run_id: self.served(run_id) for run_id in runs}
        self._turn = max([self._turn, *(served[run_id] for run_id in got if run_id in served)])
        self._served = {run_id: served[run_id] + got.get(run_id, 0.0) for run_id in runs}


class Ready(msgspec.Struct, frozen=True):
    """What a worker may find in a shard."""

    held: int
    has_lone: bool
    open: dict[int, int]
    concurrency: dict[int, int]
    flying: dict[int, int]
    has_suspect: bool

    @property
    def size(self) -> int:
        """Hosts that look open."""
        return sum(self.open.values())


class Part(msgspec.Struct, frozen=True):
    """What one shard is asked for."""

    want: int
    held_elsewhere: int = 0
    flying_elsewhere: dict[int, int] = {}


class Leasing:
    """Fills a hand from all shards: in one round trip where there is one, in few where there are more."""

    def __init__(self, shards: Shards, clock: Clock) -> None:
        self._shards = shards
        self._clock = clock
        self._turns = Turns()
        self._first = 0
        self.pace = Pace()

    async def ask(self, asking: Asking) -> Harvest:
        """What may leave now."""
        harvest = Harvest()
        if self._shards.count == 1:
            await self._collect(asking, {0: Part(asking.want)}, harvest)
            return harvest
        for _ in range(ROUNDS):
            try:
                parts = await self._plan(asking, asking.want - len(harvest.grants))
                filled = await self._collect(asking, parts, harvest)
            except SmartSpiderError:
                if harvest.grants:  # what was handed out is the caller's, whatever comes after
                    break
                raise
            if not filled or len(harvest.grants) >= asking.want or harvest.grants[0].is_alone:
                break
        return harvest

    async def _plan(self, asking: Asking, want: int) -> dict[int, Part]:
        """How many each shard is asked for. A suspect is asked for alone, a worker with one gets nothing."""
        calls = [
            Call(shard, "ready", [asking.worker_id, *asking.runs]) for shard in range(self._shards.count)
        ]
        answers = await self._shards.round(calls)
        ready = {
            shard: _ready(asking.runs, answer)
            for shard, answer in enumerate(answers)
            if not isinstance(answer, SmartSpiderError)
        }
        if not ready:
            raise next(answer for answer in answers if isinstance(answer, SmartSpiderError))
        if any(one.has_lone for one in ready.values()):
            return {}
        held = sum(one.held for one in ready.values())
        for shard, one in ready.items():
            if one.has_suspect:
                return {shard: Part(want, held - one.held, _elsewhere(ready, shard, {}))}
        self._first = (self._first + 1) % self._shards.count
        order = sorted(ready, key=lambda shard: (shard - self._first) % self._shards.count)
        wants = divided(want, {shard: ready[shard].size for shard in order})
        rooms = {run_id: _rooms(ready, order, run_id, want) for run_id in asking.runs}
        return {
            shard: Part(wants[shard], held - ready[shard].held, _elsewhere(ready, shard, rooms))
            for shard in order
        }

    async def _collect(self, asking: Asking, parts: dict[int, Part], harvest: Harvest) -> bool:
        """Ask; whether a shard gave all it was asked for."""
        calls = [Call(shard, "lease", self._args(asking, part)) for shard, part in parts.items()]
        sent_at = self._clock.monotonic()
        answers = await self._shards.round(calls)
        arrived_at = self._clock.monotonic()
        self.pace.called(arrived_at - sent_at)
        is_filled = False
        got: dict[int, float] = {}
        errors = [answer for answer in answers if isinstance(answer, SmartSpiderError)]
        if errors and len(errors) == len(answers):
            raise errors[0]
        for answer, (shard, part) in zip(answers, parts.items(), strict=True):
            if isinstance(answer, SmartSpiderError):
                continue  # the others have work; this one is asked again with the next hand
            before = len(harvest.grants)
            shares = _read(self._shards, shard, answer, harvest, (sent_at, arrived_at))
            is_filled = is_filled or 0 < part.want <= len(harvest.grants) - before
            for run_id, share in shares.items():
                got[run_id] = got.get(run_id, 0.0) + share
        self._turns.charge(asking.runs, got)
        return is_filled

    def _args(self, asking: Asking, part: Part) -> list[Any]:
        args: list[Any] = [
            asking.worker_id,
            part.want,
            asking.lease_s,
            self.pace.ahead_s,
            self.pace.slack_s,
            part.held_elsewhere,
            self._turns.turn,
            asking.own,
        ]
        for run_id in asking.runs:
            args += [run_id, self._turns.served(run_id), part.flying_elsewhere.get(run_id, 0)]
        return args


def divided(want: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Places by size: one at least for each with anything while there are some, the rest to the first."""
    total = sum(sizes.values())
    parts = dict.fromkeys(sizes, 0)
    left = want
    for shard, size in sizes.items():
        parts[shard] = min(left, max(1, want * size // total)) if size else 0
        left -= parts[shard]
    for shard, size in sizes.items():
        if size and left > 0:
            parts[shard] += left
            break
    return parts


def _rooms(ready: Mapping[int, Ready], order: Sequence[int], run_id: int, want: int) -> dict[int, int]:
    """How many more of a run each shard may hand out, so that together they keep to its concurrency."""
    concurrency = max(one.concurrency[run_id] for one in ready.values())
    room = max(concurrency - sum(one.flying[run_id] for one in ready.values()), 0)
    if room >= want:
        return dict.fromkeys(order, room)
    return divided(room, {shard: ready[shard].open[run_id] for shard in order})


def _elsewhere(
    ready: Mapping[int, Ready], shard: int, rooms: Mapping[int, Mapping[int, int]]
) -> dict[int, int]:
    """What of each run's concurrency is not this shard's to give."""
    own = ready[shard]
    if not rooms:
        return {
            run_id: sum(one.flying[run_id] for one in ready.values()) - own.flying[run_id]
            for run_id in own.flying
        }
    return {
        run_id: own.concurrency[run_id] - own.flying[run_id] - room[shard] for run_id, room in rooms.items()
    }


def _ready(runs: Sequence[int], answer: Sequence[int]) -> Ready:
    held, has_lone, *rest = answer
    columns = [dict(zip(runs, rest[column::4], strict=True)) for column in range(4)]
    return Ready(held, bool(has_lone), columns[0], columns[1], columns[2], any(columns[3].values()))


def _read(
    shards: Shards, shard: int, answer: Sequence[Any], harvest: Harvest, between: tuple[float, float]
) -> dict[int, float]:
    """Add what a shard handed out; what it comes to for each run, by weight.

    A window begins counted from the moment the answer came and ends counted from the moment the call went:
    whenever the server looked at its clock between the two, it is neither early nor late.
    """
    sent_at, arrived_at = between
    now, epoch, next_at, *groups = answer
    harvest.now = max(harvest.now, float(now))
    if next_at:
        harvest.next_at = min(harvest.next_at or float(next_at), float(next_at))
    shares: dict[int, float] = {}
    for start in range(0, len(groups), 9):
        first, not_before, not_after, delay, deadline, is_alone, *rest = groups[start : start + 9]
        weight, name, packed = rest
        host = name.decode()
        window = SendWindow(
            arrived_at + float(not_before) - float(now),
            sent_at + float(not_after) - float(now),
            float(delay),
        )
        for number, url_id in enumerate(ids(packed)):
            token = FencingToken(int(epoch), shards.counter(shard, int(first) + number))
            harvest.grants.append(
                Grant(token, shard, url_id, host, window, float(deadline), bool(int(is_alone)))
            )
            run_id = run_of(url_id)
            shares[run_id] = shares.get(run_id, 0.0) + 1.0 / int(weight)
    return shares
