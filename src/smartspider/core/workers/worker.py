"""Workers as others see them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class WorkerRegistration(msgspec.Struct, frozen=True):
    """What a worker says of itself when it joins."""

    name: str
    node: str = ""
    pid: int = 0
    version: str = ""
    slots: int = 0
    cpus: int = 0
    """Of its machine."""
    is_elastic: bool = False
    """It was started because there is much to do, and is asked to leave when there is little."""


class WorkerHealth(msgspec.Struct, frozen=True):
    """How a worker does: measured by itself, the last minutes counting most."""

    lag_s: float = 0.0
    """How late it gets to what is due: its process or its machine has too much to do."""
    fault_share: float = 0.0
    """Of its requests, those that no server answered."""
    request_s: float = 0.0
    """How long a request is in its hands."""
    pages: int = 0
    """What it stored since it joined."""
    load: float = 0.0
    """Of its machine, over one minute."""


class WorkerRecord(msgspec.Struct, frozen=True):
    """A worker that has joined and not left."""

    id: int
    name: str
    node: str
    pid: int
    version: str
    slots: int
    held: int
    """Requests in its hands."""
    is_draining: bool
    is_alive: bool
    joined_at: float
    seen_at: float
    cpu_s: float
    memory: int
    hosts: list[str] = []
    """Of what it holds, a few."""
    runs: list[int] = []
    cpus: int = 0
    is_elastic: bool = False
    health: WorkerHealth = WorkerHealth()


class WorkerRange(msgspec.Struct, frozen=True):
    """How many workers a machine has at least and at most."""

    minimum: int
    maximum: int

    @property
    def is_range(self) -> bool:
        """Whether it depends on what is wanted."""
        return self.minimum < self.maximum

    def __str__(self) -> str:
        return f"{self.minimum}-{self.maximum}" if self.is_range else str(self.minimum)


def worker_share(own: str, figure: int, workers: Sequence[WorkerRecord], span: WorkerRange) -> int:
    """How many workers a driver has, so that all drivers together have what is wanted.

    Workers that nobody scales are subtracted; the rest is divided evenly, the first by name get one more.
    """
    present = [one for one in workers if one.is_alive and not one.is_draining]
    fixed = sum(not one.is_elastic for one in present)
    drivers = sorted({own, *(driver_of(one) for one in workers if one.is_alive and one.is_elastic)})
    each, rest = divmod(max(0, figure - fixed), len(drivers))
    return min(max(each + (drivers.index(own) < rest), span.minimum), span.maximum)


def elastic_worker_name(driver: int, number: int, pid: int) -> str:
    """What a worker is called that a driver started: it tells whose it is."""
    return f"worker {driver}-{number} (pid {pid})"


def driver_of(worker: WorkerRecord) -> str:
    """Who started an elastic worker, as others see it: a machine, and the process there."""
    return driver_name(worker.node, worker.name.removeprefix("worker ").partition("-")[0])


def driver_name(node: str, pid: int | str) -> str:
    """What a driver is called among others."""
    return f"{node}/{pid}"
