"""Leasing from several shards: dividing the slots of a worker among them and collecting the grants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from smartspider.backends.redis.calls import ids
from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.errors import SmartSpiderError
from smartspider.core.frontier.lease import FencingToken, SendWindow, WeightedTurns
from smartspider.core.runs.run import HTTP_ONLY, encode_capabilities, run_of
from smartspider.interfaces.clock import Clock

ROUNDS = 3
"""Rounds: shards that granted all they were asked for are asked for the rest."""
SLACK_MAX_S = 2.0
AHEAD_MAX_S = 1.0
FADES = 0.8


class Grant(msgspec.Struct, frozen=True, gc=False):
    """A leased request; its row is in the store."""

    token: FencingToken
    shard: int
    url_id: int
    host: str
    """The host whose gate granted it."""
    window: SendWindow
    deadline_at: float
    is_alone: bool


class LeaseCall(msgspec.Struct, frozen=True):
    """The arguments of a lease."""

    worker_id: int
    want: int
    lease_s: float
    runs: Sequence[int]
    own: bytes = b""
    """Bit mask of the hosts that the worker takes first."""
    capabilities: frozenset[str] = HTTP_ONLY
    ahead_s: float = 0.0
    """Windows that begin within this time are granted, too."""


class LeaseGrants(msgspec.Struct):
    """The grants of all shards."""

    grants: list[Grant] = []
    now: float = 0.0
    next_at: float | None = None


class CallLatency:
    """The recent latency of calls and lookups: the maximum, decaying.

    Windows are kept wide enough for a caller that knows only this about the time of the server's answer.
    """

    def __init__(self) -> None:
        self.slack_s = 0.0
        self.ahead_s = 0.0

    def record_call(self, seconds: float) -> None:
        """Record the duration of a call."""
        self.slack_s = min(max(seconds, self.slack_s * FADES), SLACK_MAX_S)

    def record_lookup(self, seconds: float) -> None:
        """Record the duration of a lookup in the store."""
        self.ahead_s = min(max(seconds, self.ahead_s * FADES), AHEAD_MAX_S)


class ShardLoad(msgspec.Struct, frozen=True):
    """The work for a worker in a shard."""

    held: int
    has_lone: bool
    open: dict[int, int]
    concurrency: dict[int, int]
    in_flight: dict[int, int]
    has_suspect: bool

    @property
    def size(self) -> int:
        """Hosts that seem open."""
        return sum(self.open.values())


class ShardShare(msgspec.Struct, frozen=True):
    """The part of a lease that one shard is asked for."""

    want: int
    held_elsewhere: int = 0
    in_flight_elsewhere: dict[int, int] = {}


class Leasing:
    """Leases from all shards: in one round trip if there is one shard, in few if there are more."""

    def __init__(self, shards: Shards, clock: Clock) -> None:
        self._shards = shards
        self._clock = clock
        self._turns = WeightedTurns()
        self._first = 0
        self.latency = CallLatency()

    async def lease(self, call: LeaseCall) -> LeaseGrants:
        """Lease requests that may be sent now."""
        result = LeaseGrants()
        if self._shards.count == 1:
            await self._collect(call, {0: ShardShare(call.want)}, result)
            return result
        for _ in range(ROUNDS):
            try:
                shares_by_shard = await self._plan(call, call.want - len(result.grants))
                filled = await self._collect(call, shares_by_shard, result)
            except SmartSpiderError:
                if result.grants:  # granted leases belong to the caller, whatever follows
                    break
                raise
            if not filled or len(result.grants) >= call.want or result.grants[0].is_alone:
                break
        return result

    async def _plan(self, call: LeaseCall, want: int) -> dict[int, ShardShare]:
        """Return how many each shard is asked for. A suspect is leased alone; a worker that holds one gets
        nothing.
        """
        calls = [
            Call(
                shard,
                "ready",
                [call.worker_id, encode_capabilities(call.capabilities), call.ahead_s, *call.runs],
            )
            for shard in range(self._shards.count)
        ]
        answers = await self._shards.round(calls)
        loads = {
            shard: _load(call.runs, answer)
            for shard, answer in enumerate(answers)
            if not isinstance(answer, SmartSpiderError)
        }
        if not loads:
            raise next(answer for answer in answers if isinstance(answer, SmartSpiderError))
        if any(one.has_lone for one in loads.values()):
            return {}
        held = sum(one.held for one in loads.values())
        for shard, one in loads.items():
            if one.has_suspect:
                return {shard: ShardShare(want, held - one.held, _elsewhere(loads, shard, {}))}
        self._first = (self._first + 1) % self._shards.count
        order = sorted(loads, key=lambda shard: (shard - self._first) % self._shards.count)
        wants = divide(want, {shard: loads[shard].size for shard in order})
        rooms = {run_id: _rooms(loads, order, run_id, want) for run_id in call.runs}
        return {
            shard: ShardShare(wants[shard], held - loads[shard].held, _elsewhere(loads, shard, rooms))
            for shard in order
        }

    async def _collect(
        self, call: LeaseCall, shares_by_shard: dict[int, ShardShare], result: LeaseGrants
    ) -> bool:
        """Lease from the shards. Return whether one granted all it was asked for."""
        calls = [Call(shard, "lease", self._args(call, share)) for shard, share in shares_by_shard.items()]
        sent_at = self._clock.monotonic()
        answers = await self._shards.round(calls)
        arrived_at = self._clock.monotonic()
        self.latency.record_call(arrived_at - sent_at)
        is_filled = False
        got: dict[int, float] = {}
        errors = [answer for answer in answers if isinstance(answer, SmartSpiderError)]
        if errors and len(errors) == len(answers):
            raise errors[0]
        for answer, (shard, share) in zip(answers, shares_by_shard.items(), strict=True):
            if isinstance(answer, SmartSpiderError):
                continue  # the others have work; this one is asked again with the next lease
            before = len(result.grants)
            shares = _read(self._shards, shard, answer, result, (sent_at, arrived_at))
            is_filled = is_filled or 0 < share.want <= len(result.grants) - before
            for run_id, served in shares.items():
                got[run_id] = got.get(run_id, 0.0) + served
        self._turns.keep(call.runs)
        self._turns.charge({run_id: got[run_id] for run_id in call.runs if run_id in got})
        return is_filled

    def _args(self, call: LeaseCall, share: ShardShare) -> list[Any]:
        args: list[Any] = [
            call.worker_id,
            share.want,
            call.lease_s,
            self.latency.ahead_s,
            self.latency.slack_s,
            share.held_elsewhere,
            self._turns.turn,
            call.own,
            encode_capabilities(call.capabilities),
            call.ahead_s,
        ]
        for run_id in call.runs:
            args += [run_id, self._turns.served(run_id), share.in_flight_elsewhere.get(run_id, 0)]
        return args


def divide(want: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Divide slots by size: at least one for each non-empty shard while there are some, the rest to the
    first.
    """
    total = sum(sizes.values())
    shares_by_shard = dict.fromkeys(sizes, 0)
    left = want
    for shard, size in sizes.items():
        shares_by_shard[shard] = min(left, max(1, want * size // total)) if size else 0
        left -= shares_by_shard[shard]
    for shard, size in sizes.items():
        if size and left > 0:
            shares_by_shard[shard] += left
            break
    return shares_by_shard


def _rooms(loads: Mapping[int, ShardLoad], order: Sequence[int], run_id: int, want: int) -> dict[int, int]:
    """Return how many more requests of a run each shard may lease, so that together they keep its
    concurrency.
    """
    concurrency = max(one.concurrency[run_id] for one in loads.values())
    room = max(concurrency - sum(one.in_flight[run_id] for one in loads.values()), 0)
    if room >= want:
        return dict.fromkeys(order, room)
    return divide(room, {shard: loads[shard].open[run_id] for shard in order})


def _elsewhere(
    loads: Mapping[int, ShardLoad], shard: int, rooms: Mapping[int, Mapping[int, int]]
) -> dict[int, int]:
    """Return the part of each run's concurrency that belongs to other shards."""
    own = loads[shard]
    if not rooms:
        return {
            run_id: sum(one.in_flight[run_id] for one in loads.values()) - own.in_flight[run_id]
            for run_id in own.in_flight
        }
    return {
        run_id: own.concurrency[run_id] - own.in_flight[run_id] - room[shard]
        for run_id, room in rooms.items()
    }


def _load(runs: Sequence[int], answer: Sequence[int]) -> ShardLoad:
    held, has_lone, *rest = answer
    columns = [dict(zip(runs, rest[column::4], strict=True)) for column in range(4)]
    return ShardLoad(held, bool(has_lone), columns[0], columns[1], columns[2], any(columns[3].values()))


def _read(
    shards: Shards, shard: int, answer: Sequence[Any], result: LeaseGrants, between: tuple[float, float]
) -> dict[int, float]:
    """Add the grants of a shard. Return what each run got, divided by its weight.

    The start of a window is relative to the arrival of the answer and its end to the sending of the call:
    whenever the server read its clock between the two, the window is neither early nor late.
    """
    sent_at, arrived_at = between
    now, epoch, next_at, *groups = answer
    result.now = max(result.now, float(now))
    if next_at:
        result.next_at = min(result.next_at or float(next_at), float(next_at))
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
            result.grants.append(
                Grant(token, shard, url_id, host, window, float(deadline), bool(int(is_alone)))
            )
            run_id = run_of(url_id)
            shares[run_id] = shares.get(run_id, 0.0) + 1.0 / int(weight)
    return shares
