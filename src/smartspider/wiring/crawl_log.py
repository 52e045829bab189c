"""The log of a crawl: its files, its lines in the store, and what is shown while it runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from smartspider.core.errors import SmartSpiderError
from smartspider.core.events import Event
from smartspider.core.redaction.redactor import Redactor
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.retention import LOGS_EVERY_S, trim_logs
from smartspider.interfaces.event_bus import Subscriber
from smartspider.telemetry.subscribers import LogDestinations, worker_subscribers

STORED_LEVEL = "info"
"""Lines below it are written to files only: there are several for each page."""
COMMAND = "crawl"
"""Name of the command in its own lines."""


class CrawlLog(msgspec.Struct, frozen=True):
    """Opens the logs of one run in a data folder."""

    folder: DataFolder
    run_id: int
    shown_level: str | None = None
    """Lines of this level are printed to standard error."""

    @asynccontextmanager
    async def open(self, worker: str, redactor: Redactor | None = None) -> AsyncIterator[list[Subscriber]]:
        """Yield the subscribers of a worker."""
        name = f"run-{self.run_id}" if worker == COMMAND else f"run-{self.run_id}-{worker}"
        destinations = LogDestinations(
            self.folder.path,
            self.folder.logs,
            self.folder.settings.log_level,
            file=name,
            stored_level=STORED_LEVEL,
            shown_level=self.shown_level,
        )
        async with worker_subscribers(destinations, worker, redactor) as subscribers:
            yield subscribers

    async def record(self, event: Event) -> None:
        """Write an event of the command at once, so that its line is stored before later ones."""
        async with self.open(COMMAND) as subscribers:
            for subscriber in subscribers:
                subscriber(event)

    @asynccontextmanager
    async def trimmed(self) -> AsyncIterator[None]:
        """Delete stored lines beyond the retention, while the block runs and at its end."""
        trimming = asyncio.create_task(self._keep_trimming(), name="retention of logs")
        try:
            yield
        finally:
            trimming.cancel()
            await asyncio.wait([trimming])
        await self._trim()

    async def _keep_trimming(self) -> None:
        while True:
            await asyncio.sleep(LOGS_EVERY_S)
            await self._trim()

    async def _trim(self) -> None:
        with contextlib.suppress(SmartSpiderError):  # the crawl itself reports what is wrong with its folder
            await trim_logs(self.folder.logs, self.folder.clock, self.folder.settings.retention)
