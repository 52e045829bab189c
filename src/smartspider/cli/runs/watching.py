"""Follow a run: a bar on a terminal, lines elsewhere, or every event as JSON."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.cli.exit_codes import Exit, code_of_state
from smartspider.cli.runs.left_out import is_whole
from smartspider.cli.runs.progress import LINE_S, PageRate, ProgressCounts, progress_bar, progress_line
from smartspider.cli.runs.rendering import outcome_counts
from smartspider.cli.target import local_installation
from smartspider.cli.terminal.consoles import open_console, plain_text
from smartspider.cli.terminal.output import print_json_line, print_message
from smartspider.cli.terminal.streams import coloured_state
from smartspider.core.errors import Forbidden, NotFound
from smartspider.views.runs import LiveEvent

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import StatusView

RESUMABLE = ("paused", "stopped")
STATUS = "run.status"
PROGRESS = "run.progress"
PAUSED_S = 1.0
"""Time without events after which a paused run is no longer followed."""
STATE = "run.state"
OUTSIDE_CAUSES = frozenset(
    {
        "store_full",
        "store_unavailable",
        "no_keeper",
        "frontier_waits",
        "frontier_away",
        "frontier_refused",
    }
)
"""Codes of causes outside the run."""


async def watch_run(
    operations: AllOperations, run_id: str, *, as_json: bool = False, after: int | None = None
) -> Exit:
    """Follow a run until it ends or is paused; return the exit code for its state."""
    try:
        async with aclosing(operations.follow_run(run_id, after=after, snapshot=not as_json)) as events:
            screen = _LineScreen() if as_json or not sys.stderr.isatty() else _BarScreen()
            with screen:
                async for event in _until_paused(events):
                    if as_json:
                        print_json_line(event)
                        sys.stdout.flush()
                    else:
                        screen.show(event)
        run = await operations.get_run(run_id)
    except asyncio.CancelledError:
        print_message(f"run {run_id} is still running; `smartspider run watch {run_id}` follows it again")
        raise
    except NotFound:
        print_message(f"run {run_id} was deleted")
        raise
    print_message(run_summary(run))
    if run.state in RESUMABLE:
        print_message(f"`smartspider run resume {run_id}` resumes it")
    return code_of_state(run.state, run.reason, is_whole=is_whole(run, run.fail_count))


async def warn_blocked(operations: AllOperations, run_id: str) -> None:
    """Print a note for each cause outside the run that blocks it, and one if no worker is running."""
    with suppress(Forbidden):
        for cause in (await operations.explain_stall(run_id)).causes:
            if cause.code in OUTSIDE_CAUSES:
                print_message(f"note: {cause.what}; {cause.advice}")
        nodes = (await operations.list_nodes()).items
        if not any(worker.state == "alive" for node in nodes for worker in node.workers):
            crawl = (
                "" if local_installation(operations) is None else ", `smartspider crawl TASK` continues here"
            )
            print_message(
                f"note: no workers are running; `smartspider up` or `smartspider worker` starts them{crawl}"
            )


def run_summary(run: StatusView) -> str:
    """Return the state and counters of a run in a line."""
    counts = outcome_counts(
        run.success_count,
        run.items,
        missing=run.missing_count,
        failed=run.fail_count,
        left_out=run.left_out_count,
        rejected=run.rejected,
        duplicate=run.duplicates,
        updated=run.updated,
    )
    state = coloured_state(run.state, sys.stderr)
    return f"run {run.run_id} {state}{f' ({run.reason})' if run.reason else ''}: {counts}"


async def _until_paused(events: AsyncGenerator[LiveEvent]) -> AsyncIterator[LiveEvent]:
    """Yield events until the stream ends, or the run is paused and nothing more is reported. A pause among
    earlier events, after which the run was resumed, ends nothing.
    """
    is_paused = False
    while True:
        try:
            async with asyncio.timeout(PAUSED_S if is_paused else None):
                event = await anext(events)
        except (StopAsyncIteration, TimeoutError):
            return
        yield event
        if event.event in (STATE, STATUS, PROGRESS):
            data = msgspec.json.decode(event.data)
            is_paused = data.get("to", data.get("state")) == "paused"


def _counts_in(event: LiveEvent) -> ProgressCounts | None:
    """Return the progress figures in an event, if it has any."""
    if event.event not in (STATUS, PROGRESS):
        return None
    data: dict[str, Any] = msgspec.json.decode(event.data)
    return ProgressCounts(
        done=data["success_count"],
        items=data["items"],
        in_flight=data["in_flight"],
        open=data["queued"] + data["in_flight"],
        total=data["total"],
        failed=data["fail_count"],
        retries=data["retry_count"],
    )


class _LineScreen:
    """Print state changes, and progress at intervals."""

    def __init__(self) -> None:
        self._rate = PageRate()
        self._printed_at = time.monotonic()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass

    def show(self, event: LiveEvent) -> None:
        """Print a state change, or progress if it is due."""
        if event.event == STATE:
            data = msgspec.json.decode(event.data)
            reason = f": {data['reason']}" if data.get("reason") else ""
            print_message(data["to"] + reason)
        counts = _counts_in(event)
        if counts is None:
            return
        rate = self._rate.update(time.monotonic(), counts.done)
        if event.event == STATUS:
            print_message(f"{msgspec.json.decode(event.data)['state']}: {progress_line(counts, rate)}")
        elif time.monotonic() - self._printed_at >= LINE_S:
            self._printed_at = time.monotonic()
            print_message(progress_line(counts, rate))


class _BarScreen:
    """Draw a progress bar."""

    def __init__(self) -> None:
        from rich.live import Live

        self._rate = PageRate()
        self._live = Live(console=open_console(to_stderr=True), refresh_per_second=4, transient=True)

    def __enter__(self) -> None:
        self._live.start()

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def show(self, event: LiveEvent) -> None:
        """Update the bar, or print a state change above it."""
        counts = _counts_in(event)
        if counts is not None:
            rate = self._rate.update(time.monotonic(), counts.done)
            self._live.update(progress_bar(counts, rate))
        elif event.event == STATE:
            data = msgspec.json.decode(event.data)
            self._live.console.print(plain_text(f"{data['to']} {data.get('reason') or ''}".rstrip()))
