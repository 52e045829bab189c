"""Which worker had better take which host: so that connections, names and identities are used again.

All hosts are divided into parts. Each part belongs to the worker that rendezvous hashing chooses among those
alive, by weight: a worker that comes or goes moves only the parts it gains or loses.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b, sha1
from math import floor, log

from smartspider.core.workers.worker import WorkerHealth

PARTITIONS = 256
MIN_SHARE = 0.25
STEPS = 4
"""Shares are whole quarters: what changes a little moves nothing."""
WORSE = 2.0
"""A worker does clearly worse than the others when it is worse by this factor and by one of these as well:"""
WORSE_FAULTS = 0.1
WORSE_LAG_S = 0.1


def partition_of(host: str) -> int:
    """The part a host is in, the same wherever it is asked for."""
    return sha1(host.encode(), usedforsecurity=False).digest()[0]


def owned_partitions(worker_id: int, weights: Mapping[int, float]) -> bytes:
    """The parts of a worker, a bit for each, the lowest of the first byte is part 0."""
    mask = bytearray(PARTITIONS // 8)
    chances = {one: (_scores(one), weight) for one, weight in sorted(weights.items())}
    for part in range(PARTITIONS):
        owner = max(chances, key=lambda one: chances[one][1] / chances[one][0][part], default=worker_id)
        if owner == worker_id:
            mask[part // 8] |= 1 << part % 8
    return bytes(mask)


@lru_cache(maxsize=4096)
def _scores(worker_id: int) -> array[float]:
    """What a worker draws for each part. By weight over this, twice the weight is chosen twice as often."""
    digests = (blake2b(b"%d %d" % (part, worker_id), digest_size=8).digest() for part in range(PARTITIONS))
    return array("d", (-log((int.from_bytes(digest) + 0.5) / 2.0**64) for digest in digests))


def load_shares(peers: Mapping[int, WorkerHealth]) -> dict[int, float]:
    """How much of what it could hold each worker asks for, from a quarter to all.

    Only one that does clearly worse than the median of the others asks for less: what fails for everybody
    slows nobody down.
    """
    if not peers:
        return {}
    faults = _median_of_others([form.fault_share for form in peers.values()])
    lag_s = _median_of_others([form.lag_s for form in peers.values()])
    return {
        worker_id: min(_by_faults(form.fault_share, faults), _by_lag(form.lag_s, lag_s))
        for worker_id, form in peers.items()
    }


def _by_faults(own: float, others: float) -> float:
    """By what comes of a request in its hands, and in those of others."""
    if own <= WORSE * others + WORSE_FAULTS:
        return 1.0
    return _stepped((1.0 - own) / (1.0 - others))


def _by_lag(own_s: float, others_s: float) -> float:
    if own_s <= WORSE * others_s + WORSE_LAG_S:
        return 1.0
    return _stepped((others_s + WORSE_LAG_S) / own_s)


def _stepped(share: float) -> float:
    return max(floor(share * STEPS) / STEPS, MIN_SHARE)


def _median_of_others(figures: Sequence[float]) -> float:
    """The median of all but the worst: for whoever is worse than it, that of the others."""
    others = sorted(figures)[:-1] or figures
    return (others[(len(others) - 1) // 2] + others[len(others) // 2]) / 2.0
