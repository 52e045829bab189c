"""Leases: requests held by a worker until a deadline, and the turns of the runs that get them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from smartspider.core.requests.request import Request


class SendWindow(msgspec.Struct, frozen=True, gc=False):
    """The interval in which a request may be sent to its host. `delay_s` is the spacing of the host's gate.

    In leases and permits the times are of the worker's own monotonic clock, which changes of the system
    time do not affect and which keeps running while the process is stopped.
    """

    not_before: float
    not_after: float
    delay_s: float

    @property
    def is_free(self) -> bool:
        """Return whether the host has no delay: such a window cannot be missed."""
        return self.delay_s <= 0.0

    def shifted(self, seconds: float) -> SendWindow:
        """Return the window on a clock that is `seconds` ahead."""
        return SendWindow(self.not_before + seconds, self.not_after + seconds, self.delay_s)


class GateClosed(msgspec.Struct, frozen=True, gc=False):
    """The gate is closed and nothing is reserved. Asking before `at`, on the worker's monotonic clock, is
    useless.
    """

    at: float

    def shifted(self, seconds: float) -> GateClosed:
        """Return the value on a clock that is `seconds` ahead."""
        return GateClosed(self.at + seconds)


class FencingToken(msgspec.Struct, frozen=True, gc=False, order=True):
    """The fencing token of a lease. It only increases, also across restarts."""

    epoch: int
    counter: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.counter}"


class Lease(msgspec.Struct, frozen=True):
    """The right to fetch a request once. A worker that lost its lease can finish, but cannot store the page
    twice.
    """

    token: FencingToken
    url_id: int
    run_id: int
    request: Request
    window: SendWindow
    deadline_at: float
    attempts: int = 0
    """Failed fetches before this one."""
    returns: int = 0
    """Times the request was returned because its worker died or stopped responding."""
    is_alone: bool = False
    """The request is a suspect: the worker holds no other lease."""
    visit: int = 0
    """Times the row had been reopened when the lease was granted."""
    cookie_version: int = 0
    """Version of the cookies of the run when the lease was granted; 0: it has none."""


class LeaseBatch(msgspec.Struct, frozen=True):
    """Leases granted to a worker, and when to ask again (store time; None: nothing is queued)."""

    leases: list[Lease]
    now: float
    next_at: float | None = None


class WeightedTurns:
    """Counts what each run was served, divided by its weight: the run that was served least is next.

    No run falls behind by more than one, so an idle run gathers no credit.
    """

    def __init__(self) -> None:
        self._served: dict[int, float] = {}
        self._turn = 0.0

    @property
    def turn(self) -> float:
        """The service count of the run that was served last, before it was served."""
        return self._turn

    def served(self, run_id: int) -> float:
        """Return what a run was served."""
        return max(self._served.get(run_id, 0.0), self._turn - 1.0)

    def keep(self, runs: Iterable[int]) -> None:
        """Forget all other runs."""
        self._served = {run_id: self.served(run_id) for run_id in runs}

    def charge(self, got: Mapping[int, float]) -> None:
        """Add what runs got, divided by their weights."""
        served = {run_id: self.served(run_id) for run_id in got}
        self._turn = max([self._turn, *served.values()])
        self._served |= {run_id: served[run_id] + share for run_id, share in got.items()}
