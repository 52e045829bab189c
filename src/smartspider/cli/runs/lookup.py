"""The run that a command is about: the one named, or the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.target import local_installation
from smartspider.cli.terminal.output import print_message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import RunView

RUN = click.argument("run_id", metavar="RUN")
RUN_OR_NEWEST = click.argument("run_id", metavar="[RUN]", required=False)
"""Without it, the command passes None to `find_run`."""


async def find_run(operations: AllOperations, run_id: str | None, task: str | None = None) -> RunView:
    """Return the run with this id, or the newest run of a task or of all tasks, and print which one it is;
    raise `NotFound`.
    """
    from smartspider.core.errors import NotFound
    from smartspider.installation.data_folder import HOME

    if run_id is not None:
        return await operations.get_run(run_id)
    installation = local_installation(operations)
    folder = None if installation is None or installation.is_cluster else installation.path
    found = (await operations.list_runs(task_id=task, limit=1)).items
    if found:
        where = f" ({folder})" if folder is not None and folder.parent == HOME else ""
        print_message(f"newest run: {found[0].run_id} of {found[0].task!r}{where}")
        return found[0]
    of_task = "" if task is None else f" of the task {task!r}"
    hint = "`smartspider crawl TASK` starts one"
    if folder is None:
        hint = f"`smartspider run start {task or 'NAME'}` starts one"
    raise NotFound(f"there is no run{of_task} yet", hint=hint)


async def find_interrupted(operations: AllOperations, runs: Iterable[RunView]) -> set[str | None]:
    """Return the ids of runs of a data folder that are running in name only: no worker of it is alive, as
    after a kill.
    """
    active = {run.run_id for run in runs if run.state in ("running", "stopping")}
    installation = local_installation(operations)
    if not active or installation is None or installation.is_cluster:
        return set()
    return set() if any(worker.is_alive for worker in await installation.workers.find()) else active


async def find_run_id(operations: AllOperations, run_id: str | None) -> str:
    """Return the id, or that of the newest run as `find_run`."""
    return run_id if run_id is not None else str((await find_run(operations, None)).run_id)
