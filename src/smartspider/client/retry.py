"""Retries of the client: how often, and how long it waits between two attempts."""

from __future__ import annotations

import random

import msgspec


class ClientRetry(msgspec.Struct, frozen=True, kw_only=True):
    """Retries of requests and streams while the server cannot be reached or is busy."""

    tries: int = 4
    """Attempts before the server is considered unreachable."""
    first_wait_s: float = 0.2
    """The first wait; it doubles each time."""
    max_wait_s: float = 10.0
    """A longer `Retry-After` is raised as `TooMany` at once."""
    max_stream_wait_s: float = 5.0
    """The longest wait before a stream reconnects."""
    reconnect_s: float = 300.0
    """Time an open stream tries to reconnect."""

    def wait_s(self, failures: int) -> float:
        """Return the wait after this many failures of a request: exponential, with jitter."""
        return _jittered(min(self.max_wait_s, self._doubled_s(failures)))

    def stream_wait_s(self, failures: int) -> float:
        """Return the wait after this many failures of a stream."""
        return _jittered(min(self.max_stream_wait_s, self._doubled_s(failures)))

    def _doubled_s(self, failures: int) -> float:
        return self.first_wait_s * 2.0 ** min(failures, 20)


def _jittered(seconds: float) -> float:
    return seconds * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
