"""Which worker had better take which host: so that connections, names and identities are used again.

All hosts are divided into parts. Each part belongs to the worker that rendezvous hashing chooses among those
alive, by weight: a worker that comes or goes moves only the parts it gains or loses.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from math import log

PARTS = 256


def own_parts(worker_id: int, weights: Mapping[int, float]) -> bytes:
    """The parts of a worker, a bit for each, the lowest of the first byte is part 0."""
    mask = bytearray(PARTS // 8)
    for part in range(PARTS):
        if _owner(part, weights) in (worker_id, None):
            mask[part // 8] |= 1 << part % 8
    return bytes(mask)


def _owner(part: int, weights: Mapping[int, float]) -> int | None:
    return max(
        weights, key=lambda worker_id: (_score(part, worker_id, weights[worker_id]), worker_id), default=None
    )


def _score(part: int, worker_id: int, weight: float) -> float:
    """Weighted rendezvous: a worker of twice the weight is chosen twice as often."""
    digest = blake2b(b"%d %d" % (part, worker_id), digest_size=8).digest()
    chance = (int.from_bytes(digest) + 0.5) / 2.0**64
    return weight / -log(chance) if weight > 0.0 else 0.0
