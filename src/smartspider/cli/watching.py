"""Following a run from where one sits: a bar on a terminal, lines elsewhere, or every event as JSON."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from smartspider.cli.exit_codes import Exit, code_of_state
from smartspider.cli.output import count, say, tell_json
from smartspider.cli.progress import LINE_S, Figures, Rate, bar, line
from smartspider.core.errors import Forbidden, NotFound
from smartspider.core.runs.run import GUARD
from smartspider.views.live import LiveEvent

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.views.runs import StatusView

STATUS = "run.status"
PROGRESS = "run.progress"
STATE = "run.state"
STOPS_ALL = frozenset(
    {
        "store_full",
        "store_unavailable",
        "no_keeper",
        "frontier_waits",
        "frontier_away",
        "frontier_refused",
    }
)
"""Causes that have nothing to do with the run itself."""


async def watch_run(office: Office, run_id: str, *, as_json: bool = False, after: int | None = None) -> Exit:
    """Follow a run until it is over or a guard pauses it; how it ended."""
    try:
        async with aclosing(office.follow_run(run_id, after=after, snapshot=not as_json)) as events:
            screen = _Lines() if as_json or not sys.stderr.isatty() else _Bar()
            with screen:
                async for event in events:
                    if as_json:
                        tell_json(event)
                        sys.stdout.flush()
                    else:
                        screen.show(event)
                    if _is_guarded(event):
                        break
        run = await office.get_run(run_id)
    except asyncio.CancelledError:
        say(f"run {run_id} is left alone; `smartspider run watch {run_id}` follows it again")
        raise
    except NotFound:
        say(f"run {run_id} is not there any more")
        raise
    say(farewell(run))
    return code_of_state(run.state, run.reason, run.fail_count)


async def note_waiting(office: Office, run_id: str) -> None:
    """Say so when nobody is there to hand out what was started, or to work on it."""
    with suppress(Forbidden):
        for cause in (await office.explain_stall(run_id)).causes:
            if cause.code in STOPS_ALL:
                say(f"note: {cause.what}; {cause.advice}")
        nodes = (await office.list_nodes()).items
        if not any(worker.state == "alive" for node in nodes for worker in node.workers):
            say("note: no worker is at work there; `smartspider up` or `smartspider worker` starts some")


def farewell(run: StatusView) -> str:
    """How a run stands, in a line."""
    parts = [count(run.success_count, "page"), count(run.items, "item")]
    parts += [
        f"{number} {name}"
        for name, number in (
            ("missing", run.missing_count),
            ("failed", run.fail_count),
            ("skipped", run.skipped_count),
            ("rejected items", run.rejected),
            ("duplicate items", run.duplicates),
            ("updated items", run.updated),
        )
        if number
    ]
    return f"run {run.run_id} {run.state}{f' ({run.reason})' if run.reason else ''}: {', '.join(parts)}"


def _is_guarded(event: LiveEvent) -> bool:
    """Whether a guard paused the run: nothing more comes until somebody looks at it."""
    if event.event not in (STATE, STATUS):
        return False
    data = msgspec.json.decode(event.data)
    state, reason = data.get("to", data.get("state")), data.get("reason") or ""
    return state == "paused" and reason.startswith(GUARD)


def _figures(event: LiveEvent) -> Figures | None:
    """How far the run is, if an event tells it."""
    if event.event not in (STATUS, PROGRESS):
        return None
    data: dict[str, Any] = msgspec.json.decode(event.data)
    return Figures(
        done=data["success_count"],
        items=data["items"],
        in_flight=data["in_flight"],
        open=data["queued"] + data["in_flight"],
        total=data["total"],
        failed=data["fail_count"],
        retries=data["retry_count"],
    )


class _Lines:
    """States as they come, and a line of progress now and then."""

    def __init__(self) -> None:
        self._rate = Rate()
        self._told_at = time.monotonic()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass

    def show(self, event: LiveEvent) -> None:
        """Tell what is new."""
        if event.event == STATE:
            data = msgspec.json.decode(event.data)
            reason = f": {data['reason']}" if data.get("reason") else ""
            say(data["to"] + reason)
        figures = _figures(event)
        if figures is None:
            return
        rate = self._rate.of(time.monotonic(), figures.done)
        if event.event == STATUS:
            say(f"{msgspec.json.decode(event.data)['state']}: {line(figures, rate)}")
        elif time.monotonic() - self._told_at >= LINE_S:
            self._told_at = time.monotonic()
            say(line(figures, rate))


class _Bar:
    """A bar that moves."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._rate = Rate()
        self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)

    def __enter__(self) -> None:
        self._live.start()

    def __exit__(self, *_error: object) -> None:
        self._live.stop()

    def show(self, event: LiveEvent) -> None:
        """Draw what is new."""
        figures = _figures(event)
        if figures is not None:
            rate = self._rate.of(time.monotonic(), figures.done)
            self._live.update(bar(figures, rate))
        elif event.event == STATE:
            data = msgspec.json.decode(event.data)
            self._live.console.print(f"{data['to']} {data.get('reason') or ''}".rstrip(), markup=False)
