"""`run`: runs, started, steered and looked at. Each command is imported when it is called."""

from __future__ import annotations

from smartspider.cli.commands import LazyGroup

RUN: dict[str, tuple[str, str]] = {
    "start": ("smartspider.cli.run_start:start", "Start a run of a task that is kept."),
    "list": ("smartspider.cli.runs:list_runs", "List runs, newest first."),
    "show": ("smartspider.cli.runs:show_run", "Show the counters of a run, its steps and hosts."),
    "watch": ("smartspider.cli.run_start:watch", "Follow a run until it is over."),
    "pause": ("smartspider.cli.run_control:pause", "Hand out nothing more for now."),
    "resume": ("smartspider.cli.run_control:resume", "Go on with a run that was paused or stopped."),
    "stop": ("smartspider.cli.run_control:stop", "End a run after what is in flight; it can be resumed."),
    "cancel": ("smartspider.cli.run_control:cancel", "End a run for good."),
    "retry": ("smartspider.cli.run_control:retry", "Fetch what failed, or everything, once more."),
    "tune": ("smartspider.cli.run_control:tune", "Turn knobs of a run while it works."),
    "stall": ("smartspider.cli.run_control:stall", "Say why a run does not move, and what to do."),
    "failures": ("smartspider.cli.run_pages:failures", "Show requests that failed."),
    "pages": ("smartspider.cli.run_pages:pages", "Show requests of a run and what came of them."),
    "delete": ("smartspider.cli.runs:delete", "Delete a run with its rows and logs."),
}
"""Name → where it is, and one line about it."""

run = LazyGroup("run", RUN, "Start, steer, watch and delete runs.")
