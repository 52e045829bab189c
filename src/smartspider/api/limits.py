"""The times after which the API stops waiting for clients and earlier calls."""

from __future__ import annotations

import msgspec

from smartspider.store.idempotency import CLAIM_TIMEOUT_S


class ApiLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Time limits of an app. Those of connections are `ConnectionLimits`."""

    recheck_s: float = 5.0
    """Interval at which the token of an open stream is checked again."""
    stall_s: float = 120.0
    """Timeout for a client to accept one chunk of a file."""
    slow_s: float = 60.0
    """Time a client may spend on a file beyond what `min_bytes_per_s` takes."""
    min_bytes_per_s: float = 16_384.0
    """The rate at which a client must accept a file: an export holds a slot until it is read."""
    claim_renewal_s: float = CLAIM_TIMEOUT_S / 4
    """Interval at which a call renews the claim of its Idempotency-Key."""
    replay_wait_s: float = CLAIM_TIMEOUT_S + 1.0
    """Time a repeated call waits for the first one. After it, the first one has answered, is still working,
    or is dead.
    """
