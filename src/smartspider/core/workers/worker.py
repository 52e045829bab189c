"""Workers as seen by other processes, and the size of elastic groups of workers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.runs.run import HTTP_ONLY

SILENT_S = 12.0
"""Time without a heartbeat after which a worker counts as silent; an idle one writes every five seconds."""
SILENT_NAMED = 3


class WorkerRegistration(msgspec.Struct, frozen=True):
    """The properties a worker registers when it joins."""

    name: str
    node: str = ""
    pid: int = 0
    version: str = ""
    slots: int = 0
    cpus: int = 0
    """CPUs of its machine."""
    is_elastic: bool = False
    """Started by autoscaling, which may also stop it."""
    capabilities: frozenset[str] = HTTP_ONLY
    """Names of its transports; it leases only requests of runs that need no other."""


class WorkerHealth(msgspec.Struct, frozen=True):
    """Health of a worker, measured by itself as moving averages."""

    lag_s: float = 0.0
    """Scheduling lag of its event loop: its process or machine is overloaded."""
    fault_share: float = 0.0
    """Share of its requests that got no response."""
    request_s: float = 0.0
    """Time it holds a request."""
    pages: int = 0
    """Pages it stored since it joined."""
    load: float = 0.0
    """Load average of its machine over one minute."""
    waiting: int = 0
    """Requests that only wait for bytes and take none of its slots."""
    at_limit: frozenset[str] = frozenset()
    """Owners that have as many such requests as they may: it leases nothing of their runs."""


class WorkerRecord(msgspec.Struct, frozen=True):
    """A registered worker."""

    id: int
    name: str
    node: str
    pid: int
    version: str
    slots: int
    held: int
    """Leases it holds."""
    is_draining: bool
    is_alive: bool
    joined_at: float
    seen_at: float
    cpu_s: float
    memory: int
    hosts: list[str] = []
    """Some of the hosts of its leases."""
    runs: list[int] = []
    cpus: int = 0
    is_elastic: bool = False
    health: WorkerHealth = WorkerHealth()
    capabilities: frozenset[str] = HTTP_ONLY

    @property
    def used(self) -> int:
        """Slots in use. Requests beyond them have been fetched and are about to be stored."""
        return min(max(0, self.held - self.health.waiting), self.slots)

    def is_silent(self, now: float) -> bool:
        """Return whether its process lives, but its event loop does not move: it sends no heartbeats."""
        return self.is_alive and self.seen_at > 0.0 and now - self.seen_at > SILENT_S


def describe_silent(workers: Sequence[WorkerRecord], now: float) -> str:
    """Name silent workers, at most a few, and how long the first has been silent."""
    names = ", ".join(one.name for one in workers[:SILENT_NAMED])
    more = f" and {len(workers) - SILENT_NAMED} more" if len(workers) > SILENT_NAMED else ""
    longest_s = now - min(one.seen_at for one in workers)
    verb = "has" if len(workers) == 1 else "have"
    return f"{names}{more} {verb} been silent for {longest_s:.0f} s"


class WorkerRange(msgspec.Struct, frozen=True):
    """Minimum and maximum number of workers of a machine."""

    minimum: int
    maximum: int

    @property
    def is_range(self) -> bool:
        """Return whether the number varies with demand."""
        return self.minimum < self.maximum

    def __str__(self) -> str:
        return f"{self.minimum}-{self.maximum}" if self.is_range else str(self.minimum)


def worker_share(own: str, desired: int, workers: Sequence[WorkerRecord], limits: WorkerRange) -> int:
    """Return a driver's number of workers, so that all drivers together run the desired number.

    Workers outside of autoscaling are subtracted; the rest is divided evenly, with the remainder going to
    the first drivers by name.
    """
    present = [one for one in workers if one.is_alive and not one.is_draining]
    fixed = sum(not one.is_elastic for one in present)
    drivers = sorted({own, *(driver_of(one) for one in workers if one.is_alive and one.is_elastic)})
    each, rest = divmod(max(0, desired - fixed), len(drivers))
    return min(max(each + (drivers.index(own) < rest), limits.minimum), limits.maximum)


def elastic_worker_name(driver: int, number: int, pid: int) -> str:
    """Return the name of an elastic worker, which identifies its driver."""
    return f"worker {driver}-{number} (pid {pid})"


def driver_of(worker: WorkerRecord) -> str:
    """Return the driver of an elastic worker: machine and process."""
    return driver_name(worker.node, worker.name.removeprefix("worker ").partition("-")[0])


def driver_name(node: str, pid: int | str) -> str:
    """Return the name of a driver: machine and process id."""
    return f"{node}/{pid}"
