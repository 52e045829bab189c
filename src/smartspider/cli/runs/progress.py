"""Progress of a run: a bar on a terminal, otherwise a line at intervals."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import msgspec

from smartspider.cli.terminal.consoles import open_console, plain_text
from smartspider.cli.terminal.output import print_message
from smartspider.cli.terminal.streams import is_quiet, printed_log_level
from smartspider.core.errors import SmartSpiderError
from smartspider.core.plurals import count, plural
from smartspider.core.runs.run import Run
from smartspider.interfaces.clock import Clock
from smartspider.store.hosts.gates import ADAPTIVE
from smartspider.store.runs.records import HostStatus
from smartspider.store.runs.store import RunStore

REDRAW_S = 0.25
LINE_S = 5.0
RATE_WINDOW_S = 10.0


class ProgressCounts(msgspec.Struct, frozen=True):
    """Progress figures of a run."""

    done: int
    items: int
    in_flight: int
    open: int
    total: int
    failed: int
    retries: int


class PageRate:
    """Pages per second over the last ten seconds."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, int]] = []

    def update(self, now: float, done: int) -> float:
        """Add a sample and return the rate."""
        self._samples.append((now, done))
        self._samples = [sample for sample in self._samples if now - sample[0] <= RATE_WINDOW_S]
        first_at, first = self._samples[0]
        return (done - first) / (now - first_at) if now > first_at else 0.0


def counts_of(run: Run) -> ProgressCounts:
    """Return the progress figures of a run."""
    counters = run.counters
    return ProgressCounts(
        *(counters.done, counters.items, run.in_flight, counters.open, counters.total),
        failed=counters.failed,
        retries=counters.retries,
    )


def progress_line(counts: ProgressCounts, rate: float) -> str:
    """Return figures and rate in a line."""
    text = (
        f"{count(counts.done, 'page')}, {count(counts.items, 'item')}, {rate:.1f} pages/s,"
        f" {counts.in_flight} in flight,"
        f" {counts.open} to go"
    )
    if counts.failed or counts.retries:
        text += f", {counts.failed} failed, {count(counts.retries, 'retry', 'retries')}"
    return text


def progress_bar(counts: ProgressCounts, rate: float) -> Any:
    """Return figures and rate as a bar for rich."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_row(
        ProgressBar(total=max(counts.total, 1), completed=counts.total - counts.open, width=30),
        f"[bold]{counts.done}[/] {plural(counts.done, 'page')}",
        f"[bold]{counts.items}[/] {plural(counts.items, 'item')}",
        f"{rate:.1f}/s",
        time_left(counts, rate),
        f"[red]{counts.failed} failed[/]" if counts.failed else "",
        f"[yellow]{count(counts.retries, 'retry', 'retries')}[/]" if counts.retries else "",
    )
    return table


def time_left(counts: ProgressCounts, rate: float) -> str:
    """Return the estimated time left; "" if it is unknown."""
    if rate <= 0.0 or not counts.open:
        return ""
    seconds = int(counts.open / rate)
    return f"about {seconds // 60}:{seconds % 60:02d} to go"


def _slowed(host: HostStatus) -> str:
    """Return what an overloaded host was slowed down to."""
    return f"slowed to one every {host.delay_s:g} s after 429, 503 or timeouts"


class ProgressDisplay:
    """Show the progress of a run while it is crawled. Errors of the display never stop the run."""

    def __init__(
        self,
        store: RunStore,
        run_id: int,
        clock: Clock,
        *,
        explain: Callable[[], Awaitable[str]] | None = None,
        line_s: float = LINE_S,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._explain = explain
        """Returns why the run does not move."""
        self._line_s = line_s
        self._ask_at = clock.monotonic() + line_s
        self._reason = ""
        self._task: asyncio.Task[None] | None = None
        self._rate = PageRate()

    async def __aenter__(self) -> None:
        if is_quiet():
            return
        has_bar = sys.stderr.isatty() and printed_log_level() is None
        show = self._draw if has_bar else self._print
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
            print_message(f"note: cannot show progress: {type(failure).__name__}: {failure}")

    async def line(self) -> str:
        """Read the run and return its progress in a line."""
        counts = counts_of(await self._store.get_run(self._run_id))
        rate = self._rate.update(self._clock.monotonic(), counts.done)
        line = progress_line(counts, rate)
        if why := await self._why(counts, rate):
            return f"{line}. {why}"
        hosts = await self._store.hosts(self._run_id, 1) if counts.open else []
        slowed = "".join(f", {host.host} {_slowed(host)}" for host in hosts if host.set_by == ADAPTIVE)
        return line + slowed

    async def panel(self) -> Any:
        """Read the run and return a bar and its slowest host."""
        from rich.table import Table

        counts = counts_of(await self._store.get_run(self._run_id))
        rate = self._rate.update(self._clock.monotonic(), counts.done)
        bar = progress_bar(counts, rate)
        slowest = await self._why(counts, rate) or await self.slowest_host()
        outer = Table.grid()
        outer.add_row(bar)
        if slowest:
            outer.add_row(plain_text(slowest, "dim"))
        return outer

    async def _why(self, counts: ProgressCounts, rate: float) -> str:
        """Return why no page was finished recently, asked at intervals; empty if some were."""
        if rate or not counts.open or self._explain is None:
            self._reason = ""
            self._ask_at = self._clock.monotonic() + self._line_s
        elif self._clock.monotonic() >= self._ask_at:
            self._ask_at = self._clock.monotonic() + self._line_s
            self._reason = await self._explain()
        return self._reason

    async def slowest_host(self) -> str:
        """Return the host with the longest queue, its delay and its hold; "" if there is none."""
        hosts = await self._store.hosts(self._run_id, 1)
        if not hosts:
            return ""
        host = hosts[0]
        text = f"slowest host {host.host}: {host.queued} queued, {host.in_flight} in flight"
        if host.set_by == ADAPTIVE:
            text += f", {_slowed(host)}"
        elif host.delay_s:
            text += f", one every {host.delay_s:g} s ({host.set_by})"
        held_s = host.held_until - self._clock.now()
        return f"{text}, held for {held_s:.0f} s: {host.hold_reason}" if held_s > 0 else text

    async def _print(self) -> None:
        await self.line()  # the first sample of the rate
        while True:
            await asyncio.sleep(self._line_s)
            print_message(await self.line())

    async def _draw(self) -> None:
        from rich.live import Live

        with Live(console=open_console(to_stderr=True), refresh_per_second=4, transient=True) as live:
            while True:
                live.update(await self.panel())
                await asyncio.sleep(REDRAW_S)
