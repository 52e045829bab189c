"""A lease: a request in a worker's hands until a deadline."""

from __future__ import annotations

import msgspec

from smartspider.core.requests.request import Request


class SendWindow(msgspec.Struct, frozen=True, gc=False):
    """When a request may leave for its host. `delay_s` is what the gate is spaced by.

    In leases and permits the moments are of the worker's own monotonic clock, which a change of the
    machine's time does not move and a stopped process does not miss.
    """

    not_before: float
    not_after: float
    delay_s: float

    @property
    def is_free(self) -> bool:
        """The host has no delay, so there is nothing to wait for and nothing to miss."""
        return self.delay_s <= 0.0

    def shifted(self, seconds: float) -> SendWindow:
        """The same window on a clock that is so far ahead."""
        return SendWindow(self.not_before + seconds, self.not_after + seconds, self.delay_s)


class GateClosed(msgspec.Struct, frozen=True, gc=False):
    """A gate is closed: nothing is reserved, and it is of no use to ask again before this moment of the
    worker's own monotonic clock.
    """

    at: float

    def shifted(self, seconds: float) -> GateClosed:
        """The same moment on a clock that is so far ahead."""
        return GateClosed(self.at + seconds)


class FencingToken(msgspec.Struct, frozen=True, gc=False, order=True):
    """The fencing token of a lease: it only grows, also across restarts."""

    epoch: int
    counter: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.counter}"


class Lease(msgspec.Struct, frozen=True):
    """The right to fetch one request once. Whoever lost it may still finish, but cannot double a page."""

    token: FencingToken
    url_id: int
    run_id: int
    request: Request
    window: SendWindow
    deadline_at: float
    attempts: int = 0
    """Fetches that failed before this one."""
    returns: int = 0
    """Times this request came back because its worker died or fell silent."""
    is_alone: bool = False
    """A suspect: the worker has nothing else in its hands."""
    visit: int = 0
    """How often its row had been opened again when it was handed out."""


class LeaseBatch(msgspec.Struct, frozen=True):
    """What a worker got, and when asking again makes sense (store time; None: nothing is waiting)."""

    leases: list[Lease]
    now: float
    next_at: float | None = None
