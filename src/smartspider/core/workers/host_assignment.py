"""Assignment of hosts to workers, so that connections, DNS answers and identities are reused.

Hosts are divided into partitions. Each partition belongs to the live worker chosen by weighted rendezvous
hashing: a worker that joins or leaves moves only the partitions it gains or loses.
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
"""Shares are multiples of a quarter, so that small changes move nothing."""
WORSE = 2.0
"""A worker is unhealthy if it is worse than the others by this factor and by one of these margins:"""
WORSE_FAULTS = 0.1
WORSE_LAG_S = 0.1


def partition_of(host: str) -> int:
    """Return the partition of a host, the same in every process."""
    return sha1(host.encode(), usedforsecurity=False).digest()[0]


def owned_partitions(worker_id: int, weights: Mapping[int, float]) -> bytes:
    """Return the partitions of a worker as a bit mask; the lowest bit of the first byte is partition 0."""
    mask = bytearray(PARTITIONS // 8)
    chances = {one: (_scores(one), weight) for one, weight in sorted(weights.items())}
    for part in range(PARTITIONS):
        owner = max(chances, key=lambda one: chances[one][1] / chances[one][0][part], default=worker_id)
        if owner == worker_id:
            mask[part // 8] |= 1 << part % 8
    return bytes(mask)


@lru_cache(maxsize=4096)
def _scores(worker_id: int) -> array[float]:
    """Return the worker's random score for each partition. With weight divided by score, twice the weight
    wins twice as often.
    """
    digests = (blake2b(b"%d %d" % (part, worker_id), digest_size=8).digest() for part in range(PARTITIONS))
    return array("d", (-log((int.from_bytes(digest) + 0.5) / 2.0**64) for digest in digests))


def load_shares(peers: Mapping[int, WorkerHealth]) -> dict[int, float]:
    """Return the share of its capacity that each worker should use, from a quarter to all.

    Only a worker clearly worse than the median of the others is reduced: faults that affect all workers
    slow none of them down.
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
    """Return the share by the success rate of requests, compared with other workers."""
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
    """Return the median of all but the worst: for a worker that is worse, the median of the others."""
    others = sorted(figures)[:-1] or figures
    return (others[(len(others) - 1) // 2] + others[len(others) // 2]) / 2.0
