"""Queued work of runs by host, in the frontier on Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from smartspider.backends.redis.shards import Call, Shards
from smartspider.core.workers.scaling import LaneDemand

SOON_S = 10.0
"""A host held no longer than this counts as open: a worker needs some time to start."""
FIELDS = 8

Found = dict[int, tuple[int, list[LaneDemand]]]


class RedisDemand:
    """See `interfaces/frontier.py`. `now` returns store time, which the frontier follows."""

    def __init__(self, shards: Shards, now: Callable[[], float]) -> None:
        self._shards = shards
        self._now = now

    async def lanes(self, runs: Sequence[int], limit: int) -> Found:
        """Return the number of hosts of each run, and some of them. Raise if a shard does not answer."""
        args = [repr(self._now() + SOON_S), max(2, limit // self._shards.count), *runs]
        calls = [Call(shard, "demand", args) for shard in range(self._shards.count)]
        found: Found = {run_id: (0, []) for run_id in runs}
        for answer in await self._shards.answers(calls):
            _add(found, runs, iter(answer))
        return found


def _add(found: Found, runs: Sequence[int], parts: Iterator[Any]) -> None:
    for run_id in runs:
        lanes, looked = next(parts), next(parts)
        count, known = found[run_id]
        known += [_lane(list(islice(parts, FIELDS))) for _ in range(looked)]
        found[run_id] = count + lanes, known


def _lane(row: Sequence[Any]) -> LaneDemand:
    host, domain, queued, in_flight, delay, per_host, per_domain, is_held = row
    return LaneDemand(
        host=host.decode(),
        domain=domain.decode(),
        queued=queued,
        in_flight=in_flight,
        delay_s=float(delay),
        per_host=per_host,
        per_domain=per_domain if per_domain >= 0 else None,
        is_held=bool(is_held),
    )
