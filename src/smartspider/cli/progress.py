"""Live progress: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType
from typing import Any

import msgspec

from smartspider.cli.output import say
from smartspider.core.errors import SmartSpiderError
from smartspider.core.runs.run import Run
from smartspider.interfaces.clock import Clock
from smartspider.store.runs.store import RunStore

REDRAW_S = 0.25
LINE_S = 5.0


class Figures(msgspec.Struct, frozen=True):
    """How far a run is."""

    done: int
    items: int
    in_flight: int
    open: int
    total: int
    failed: int
    retries: int


class Rate:
    """Pages per second over the last ten seconds or so."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, int]] = []

    def of(self, now: float, done: int) -> float:
        """The rate, now that so many are done."""
        self._samples.append((now, done))
        self._samples = [sample for sample in self._samples if now - sample[0] <= 10.0]
        first_at, first = self._samples[0]
        return (done - first) / (now - first_at) if now > first_at else 0.0


def line(figures: Figures, rate: float) -> str:
    """How far and how fast, in a line."""
    text = (
        f"{figures.done} pages, {figures.items} items, {rate:.1f} pages/s, {figures.in_flight} in flight,"
        f" {figures.open} to go"
    )
    if figures.failed or figures.retries:
        text += f", {figures.failed} failed, {figures.retries} retries"
    return text


def bar(figures: Figures, rate: float) -> Any:
    """The same as a bar."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_row(
        ProgressBar(total=max(figures.total, 1), completed=figures.total - figures.open, width=30),
        f"[bold]{figures.done}[/] pages",
        f"[bold]{figures.items}[/] items",
        f"{rate:.1f}/s",
        _eta(figures, rate),
        f"[red]{figures.failed} failed[/]" if figures.failed else "",
        f"[yellow]{figures.retries} retries[/]" if figures.retries else "",
    )
    return table


class Progress:
    """Shows a run while it is being worked on; whatever happens to it, the work goes on."""

    def __init__(self, store: RunStore, run_id: int, clock: Clock) -> None:
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._rate = Rate()

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
        figures = figures_of(await self._store.get_run(self._run_id))
        return line(figures, self._rate.of(self._clock.monotonic(), figures.done))

    async def _panel(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        figures = figures_of(await self._store.get_run(self._run_id))
        table = bar(figures, self._rate.of(self._clock.monotonic(), figures.done))
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


def figures_of(run: Run) -> Figures:
    """How far a run is."""
    counters = run.counters
    return Figures(
        *(counters.done, counters.items, run.in_flight, counters.open, counters.total),
        failed=counters.failed,
        retries=counters.retries,
    )


def _eta(figures: Figures, rate: float) -> str:
    if rate <= 0.0 or not figures.open:
        return ""
    seconds = int(figures.open / rate)
    return f"about {seconds // 60}:{seconds % 60:02d} to go"
