"""The local driver: scales the worker processes of this machine to the autoscaling decision."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from smartspider.core.errors import SmartSpiderError
from smartspider.core.workers.scaling import ScalingDecision
from smartspider.core.workers.worker import WorkerRange, driver_name, worker_share
from smartspider.installation.installation import Installation
from smartspider.installation.settings import Settings, read_settings
from smartspider.wiring.opening import open_installation
from smartspider.wiring.processes.process_group import ProcessGroup

POLL_S = 3.0
STALE_S = 120.0
"""Age after which a decision is ignored: no keeper leads."""
PAUSE_S = 3.0
"""Pause after the store could not be opened."""


class Driver:
    """Applies the scaling decision in the store. Without a store or a recent decision nothing changes."""

    def __init__(
        self,
        data: Path,
        settings: Settings,
        group: ProcessGroup,
        range_: WorkerRange,
        report: Callable[[str], None],
        *,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._data = data
        self._settings = settings
        self._group = group
        self._range = range_
        self._report = report
        self._pause_s = pause_s
        self._name = driver_name(socket.gethostname(), os.getpid())
        self._last_error = ""
        self._poll_s = max(0.5, min(POLL_S, settings.scaling.stabilization_s / 4))

    async def run(self) -> None:
        """Apply decisions until cancelled."""
        while True:
            try:
                async with open_installation(self._data, self._settings) as installation:
                    await self._drive(installation)
            except SmartSpiderError as error:
                self._report_error(error.message)
            await asyncio.sleep(self._pause_s)

    async def _drive(self, installation: Installation) -> None:
        while True:
            try:
                await self.apply_decision(installation)
                self._last_error = ""
            except SmartSpiderError as error:
                self._report_error(error.message)
            await asyncio.sleep(self._poll_s)

    async def apply_decision(self, installation: Installation) -> None:
        """Apply the current decision once."""
        decision = await installation.scaling.decision()
        most = self._range.maximum - self._group.drained
        if most <= 0 and self._group.is_only_elastic:
            self._group.stop()
        if most <= 0 or decision is None or installation.leadership.now() - decision.at > STALE_S:
            return
        range_ = WorkerRange(min(self._range.minimum, most), most)
        share = worker_share(self._name, decision.desired, await installation.workers.find(), range_)
        change = share - len(self._group.elastic_numbers)
        if change:
            self._report(describe_change(decision, share, change))
            self._group.resize(share)

    def _report_error(self, message: str) -> None:
        if message != self._last_error:
            count = len(self._group.elastic_numbers)
            self._report(f"the desired number of workers is unknown; keeping {count}: {message}")
        self._last_error = message


def describe_change(decision: ScalingDecision, here: int, change: int) -> str:
    """Return the line that is printed when a driver starts or drains workers."""
    many = "1 worker is" if decision.desired == 1 else f"{decision.desired} workers are"
    share = "" if here == decision.desired else f", {here} here"
    act = f"starting {change}" if change > 0 else f"draining {-change}"
    return f"{many} desired{share} ({decision.reason}): {act}"


@asynccontextmanager
async def driving(data: Path, group: ProcessGroup, report: Callable[[str], None]) -> AsyncIterator[None]:
    """Scale the elastic workers of a group, if it has any, during the block."""
    if group.elastic is None:
        yield
        return
    driver = Driver(data, read_settings(), group, group.elastic.range, report)
    task = asyncio.create_task(driver.run(), name="driver")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
