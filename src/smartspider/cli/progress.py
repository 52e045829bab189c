"""Live progress: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType
from typing import Any

from smartspider.cli.output import say
from smartspider.core.errors import SmartSpiderError
from smartspider.core.runs import Run
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.store import Store

REDRAW_S = 0.25
LINE_S = 5.0


class Progress:
    """Shows a run while it is being worked on; whatever happens to it, the work goes on."""

    def __init__(self, store: Store, run_id: int, clock: Clock) -> None:
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._samples: list[tuple[float, int]] = []

    async def __aenter__(self) -> None:
        show = self._draw if sys.stderr.isatty() else self._print
        self._task = asyncio.create_task(show(), name="progress")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        failure = None if self._task.cancelled() else self._task.exception()
        if failure is not None and not isinstance(failure, SmartSpiderError):
            say(f"note: progress could not be shown: {type(failure).__name__}: {failure}")

    async def _print(self) -> None:
        await self._line()  # what the first rate is measured from
        while True:
            await asyncio.sleep(LINE_S)
            say(await self._line())

    async def _draw(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as live:
            while True:
                live.update(await self._panel())
                await asyncio.sleep(REDRAW_S)

    async def _line(self) -> str:
        run = await self._store.get_run(self._run_id)
        counters = run.counters
        rate = self._rate(counters.done)
        text = (
            f"{counters.done} pages, {counters.items} items, {rate:.1f} pages/s, {run.in_flight} in flight,"
            f" {counters.open} to go"
        )
        if counters.failed or counters.retries:
            text += f", {counters.failed} failed, {counters.retries} retries"
        return text

    async def _panel(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        run = await self._store.get_run(self._run_id)
        counters = run.counters
        rate = self._rate(counters.done)
        table = Table.grid(padding=(0, 2))
        closed = counters.total - counters.open
        table.add_row(
            ProgressBar(total=max(counters.total, 1), completed=closed, width=30),
            f"[bold]{counters.done}[/] pages",
            f"[bold]{counters.items}[/] items",
            f"{rate:.1f}/s",
            _eta(run, rate),
            f"[red]{counters.failed} failed[/]" if counters.failed else "",
            f"[yellow]{counters.retries} retries[/]" if counters.retries else "",
        )
        slowest = await self._slowest()
        outer = Table.grid()
        outer.add_row(table)
        if slowest:
            outer.add_row(Text(slowest, style="dim"))
        return outer

    async def _slowest(self) -> str:
        """The host that most of the rest waits for, and why."""
        hosts = await self._store.hosts(self._run_id, 1)
        if not hosts:
            return ""
        host = hosts[0]
        text = f"slowest host {host.host}: {host.queued} queued, {host.in_flight} in flight"
        if host.delay_s:
            text += f", one every {host.delay_s:g} s ({host.set_by})"
        held_s = host.held_until - self._clock.now()
        return f"{text}, held for {held_s:.0f} s: {host.hold_reason}" if held_s > 0 else text

    def _rate(self, done: int) -> float:
        """Pages per second over the last ten seconds or so."""
        now = self._clock.monotonic()
        self._samples.append((now, done))
        self._samples = [sample for sample in self._samples if now - sample[0] <= 10.0]
        first_at, first = self._samples[0]
        return (done - first) / (now - first_at) if now > first_at else 0.0


def _eta(run: Run, rate: float) -> str:
    if rate <= 0.0 or not run.counters.open:
        return ""
    seconds = int(run.counters.open / rate)
    return f"about {seconds // 60}:{seconds % 60:02d} to go"
