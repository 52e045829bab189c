"""Task files as arguments of commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.terminal.output import print_message
from smartspider.cli.terminal.stages import shown_stages

if TYPE_CHECKING:
    from smartspider.taskfile.model.task import Task

_TASK_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


def load_task_file(path: Path, settings: Sequence[str] = (), *, skip_invalid: bool = False) -> Task:
    """Load a task file with `a.b=JSON` overrides; a terminal shows the progress of a large one. With
    `skip_invalid`, lines of its files that are no URLs are left out, and counted in a note.
    """
    from smartspider.engine.runtime import tune_process
    from smartspider.services.plans import rule_problems
    from smartspider.taskfile.load import load_task

    tune_process()  # garbage collection takes a quarter of the time of a task with many URLs
    skipped: list[str] = []
    with shown_stages() as report:
        task = load_task(path, settings, report, rule_problems, skipped.append if skip_invalid else None)
    for text in skipped:
        print_message(f"note: {text}")
    return task


class TaskFile(click.Path):
    """The type of an argument that is a task file."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; raise `RequestInvalid` for a URL."""
        from smartspider.core.errors import RequestInvalid

        if isinstance(value, str) and is_url(value):
            command = f"`{ctx.command_path}`" if ctx is not None else "this command"
            url = shlex.quote(value)
            hint = f"`smartspider suggest {url} -o task.json` writes one; `smartspider crawl {url}` does both"
            raise RequestInvalid(f"{command} takes a task file, not a URL", hint=hint)
        return super().convert(value, param, ctx)


def is_url(target: str) -> bool:
    """Return True if an argument is a URL, not a task file."""
    return target.lower().startswith(("http://", "https://"))


def url_hint(target: str) -> str:
    """Return a hint if an argument that is no task file may be a URL without a scheme, else an empty text."""
    host = target.partition("/")[0]
    is_host = "." in host.strip(".") and Path(target).suffix.lower() not in _TASK_SUFFIXES
    return f"for a page write https://{target}" if is_host and not Path(target).exists() else ""
