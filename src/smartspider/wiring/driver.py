"""The local driver: has as many worker processes as are wanted here, within its span."""

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
from smartspider.wiring.up import Staff

LOOK_S = 3.0
OLD_S = 120.0
"""A figure that was not told again for so long is not followed: no keeper leads."""
PAUSE_S = 3.0
"""How long a store that cannot be opened is left alone."""


class Driver:
    """Follows the figure in the store. While that is away, or nobody decides, everything stays as it is."""

    def __init__(
        self, data: Path, settings: Settings, staff: Staff, span: WorkerRange, say: Callable[[str], None]
    ) -> None:
        self._data = data
        self._settings = settings
        self._staff = staff
        self._span = span
        self._say = say
        self._name = driver_name(socket.gethostname(), os.getpid())
        self._trouble = ""
        self._look_s = max(0.5, min(LOOK_S, settings.scaling.stabilization_s / 4))

    async def run(self) -> None:
        """Follow it until cancelled."""
        while True:
            try:
                async with open_installation(self._data, self._settings) as installation:
                    await self._drive(installation)
            except SmartSpiderError as error:
                self._tell_trouble(error.message)
            await asyncio.sleep(PAUSE_S)

    async def _drive(self, installation: Installation) -> None:
        while True:
            try:
                await self._follow(installation)
                self._trouble = ""
            except SmartSpiderError as error:
                self._tell_trouble(error.message)
            await asyncio.sleep(self._look_s)

    async def _follow(self, installation: Installation) -> None:
        figure = await installation.scaling.figure()
        most = self._span.maximum - self._staff.crew_drained
        if most <= 0 and self._staff.is_crew_alone:
            self._staff.stop()
        if most <= 0 or figure is None or installation.leadership.now() - figure.at > OLD_S:
            return
        span = WorkerRange(min(self._span.minimum, most), most)
        wanted = worker_share(self._name, figure.desired, await installation.workers.find(), span)
        change = wanted - len(self._staff.crew_numbers)
        if change:
            self._say(told(figure, wanted, change))
            self._staff.resize(wanted)

    def _tell_trouble(self, message: str) -> None:
        if message != self._trouble:
            stay = len(self._staff.crew_numbers)
            self._say(f"how many workers are wanted is not known, {stay} stay: {message}")
        self._trouble = message


def told(figure: ScalingDecision, here: int, change: int) -> str:
    """What a driver does, in one line."""
    many = "1 worker is" if figure.desired == 1 else f"{figure.desired} workers are"
    share = "" if here == figure.desired else f", {here} here"
    act = f"starting {change}" if change > 0 else f"draining {-change}"
    return f"{many} wanted{share} ({figure.reason}): {act}"


@asynccontextmanager
async def driven(data: Path, staff: Staff, say: Callable[[str], None]) -> AsyncIterator[None]:
    """Drive the crew of a staff, if it has one, as long as this lasts."""
    if staff.crew is None:
        yield
        return
    driver = Driver(data, read_settings(), staff, staff.crew.span, say)
    driving = asyncio.create_task(driver.run(), name="driver")
    try:
        yield
    finally:
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
