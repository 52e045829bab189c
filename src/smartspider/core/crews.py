"""Crews of workers that come and go: how large each is, when several drivers follow one figure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.workers import WorkerRecord


class Span(msgspec.Struct, frozen=True):
    """How many workers a machine has at least and at most."""

    least: int
    most: int

    @property
    def is_range(self) -> bool:
        """Whether it depends on what is wanted."""
        return self.least < self.most

    def __str__(self) -> str:
        return f"{self.least}-{self.most}" if self.is_range else str(self.least)


def share_of(own: str, figure: int, workers: Sequence[WorkerRecord], span: Span) -> int:
    """How many workers a driver has, so that all drivers together have what is wanted.

    Workers that nobody scales are subtracted; the rest is divided evenly, the first by name get one more.
    """
    present = [one for one in workers if one.is_alive and not one.is_draining]
    fixed = sum(not one.is_elastic for one in present)
    drivers = sorted({own, *(driver_of(one) for one in workers if one.is_alive and one.is_elastic)})
    each, rest = divmod(max(0, figure - fixed), len(drivers))
    return min(max(each + (drivers.index(own) < rest), span.least), span.most)


def elastic_name(driver: int, number: int, pid: int) -> str:
    """What a worker is called that a driver started: it tells whose it is."""
    return f"worker {driver}-{number} (pid {pid})"


def driver_of(worker: WorkerRecord) -> str:
    """Who started an elastic worker, as others see it: a machine, and the process there."""
    return driver_name(worker.node, worker.name.removeprefix("worker ").partition("-")[0])


def driver_name(node: str, pid: int | str) -> str:
    """What a driver is called among others."""
    return f"{node}/{pid}"
