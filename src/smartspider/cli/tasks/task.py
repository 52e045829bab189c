"""`task apply|list|show|history|diff|delete`: saved tasks and their versions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import CLUSTER, Target, collect, limit_option, local_installation, with_target
from smartspider.cli.tasks import rendering
from smartspider.cli.terminal.output import printed
from smartspider.core.runs.run import RunState
from smartspider.core.tasks import TaskOrder

if TYPE_CHECKING:
    from smartspider.cli.tasks.rendering import VersionDiff
    from smartspider.operations.table import AllOperations
    from smartspider.views.tasks import TaskLine, TaskSaved, VersionLine, VersionView

_TRIES = 10
"""Attempts to save a task that others change at the same time."""
_VERSIONS = 100
"""Page size of version lists."""


@click.group(cls=CommandGroup)
def task() -> None:
    """Manage tasks and their versions."""


@task.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--note", default="", metavar="TEXT", help="Note about this version.")
@with_target
@printed(rendering.print_saved, message=rendering.saved_message, to_json=rendering.with_location)
def apply(file: Path, note: str, target: Target) -> tuple[str, TaskSaved]:
    """Save a task file as a new task, or as a new version if it differs from the saved one."""
    import msgspec

    from smartspider.cli.tasks.loading import load_task_file
    from smartspider.core.errors import TaskInvalid
    from smartspider.installation.data_folder import folder_of
    from smartspider.services.tasks.checks import check_task
    from smartspider.taskfile.load import load_document
    from smartspider.wiring import fault_injection

    fault_injection.arm_from_environment()
    remote = target.remote()
    if remote is not None:  # the server checks the task: its version may differ
        expanded = load_document(file)
        try:
            return remote.url, target.run(lambda operations: save(operations, expanded.document, note))
        except TaskInvalid as error:
            raise expanded.with_lines(error) from error
    spec = check_task(load_task_file(file)).spec
    document = msgspec.json.decode(spec.spec)
    if target.is_cluster():
        return CLUSTER, target.run(lambda operations: save(operations, document, note))
    folder = folder_of(target.data, spec.name)
    return str(folder), target.run_in_folder(folder, lambda operations: save(operations, document, note))


async def save(operations: AllOperations, document: Any, note: str) -> TaskSaved:
    """Create the task, change it, or leave it if it is the same."""
    from smartspider.core.errors import Conflict, NotFound

    name = document.get("name") if isinstance(document, dict) else None
    for _ in range(_TRIES):
        saved = await _find_by_name(operations, name) if isinstance(name, str) and name else None
        try:
            if saved is None:
                return await operations.create_task(document, note=note)
            return await operations.change_task(saved.id, document, note=note)
        except (Conflict, NotFound):  # changed by others in between
            continue
    raise Conflict(f"the task {name!r} keeps being changed by others", hint="try again later")


async def _find_by_name(operations: AllOperations, name: str) -> TaskLine | None:
    """Return the task with exactly this name, even if the name looks like an id."""
    found = (await operations.list_tasks(name=name[:100], limit=1)).items
    return found[0] if found and found[0].name == name else None


@task.command("list")
@click.option("--search", "q", default=None, metavar="TEXT", help="Only tasks with this in their name.")
@click.option("--owner", default=None, metavar="NAME", help="Only tasks of this owner.")
@click.option(
    "--state", type=click.Choice(get_args(RunState)), default=None, help="Only by state of the newest run."
)
@click.option(
    "--sort",
    type=click.Choice(get_args(TaskOrder)),
    default="created",
    show_default=True,
    help="Order; with -, the last one first.",
)
@with_target
@printed(rendering.print_tasks, to_json=lambda found: [rendering.with_location(one) for one in found])
def list_tasks(target: Target, sort: Any, **only: Any) -> list[tuple[str, TaskLine]]:
    """List tasks of a server, of the local data folders, or of one data folder."""
    from smartspider.installation.data_folder import all_folders

    def find(operations: AllOperations) -> Awaitable[list[TaskLine]]:
        return collect(functools.partial(operations.list_tasks, sort=sort, **only))

    remote = target.remote()
    if remote is not None or target.is_cluster():
        location = CLUSTER if remote is None else remote.url
        return [(location, one) for one in target.run(find)]
    found = [
        (str(folder), one)
        for folder in all_folders(target.data)
        for one in target.run_in_folder(folder, find)
    ]
    key = operator.attrgetter("name" if sort.endswith("name") else "created_at")
    return sorted(found, key=lambda pair: key(pair[1]), reverse=sort.startswith("-"))


@task.command()
@click.argument("name")
@click.option(
    "--version", type=click.IntRange(1), default=None, help="Version to show.  [default: the newest]"
)
@with_target
@printed(rendering.print_version)
def show(name: str, version: int | None, target: Target) -> VersionView:
    """Print a version of a task as JSON."""

    async def find(operations: AllOperations) -> VersionView:
        task = await operations.get_task(name)
        return await operations.get_task_version(task.id, task.version if version is None else version)

    return target.run(find, task=name)


@task.command()
@click.argument("name")
@limit_option(20, "versions")
@with_target
@printed(rendering.print_versions)
def history(name: str, limit: int, target: Target) -> list[VersionLine]:
    """List the versions of a task, newest first, with author, time, note and changes."""
    return target.run(
        lambda operations: collect(
            functools.partial(operations.list_task_versions, name), limit, page=_VERSIONS
        ),
        task=name,
    )


@task.command()
@click.argument("name")
@click.argument("before", type=click.IntRange(1), default=None, required=False, metavar="[A]")
@click.argument("after", type=click.IntRange(1), default=None, required=False, metavar="[B]")
@with_target
@printed(rendering.print_diff)
def diff(name: str, before: int | None, after: int | None, target: Target) -> VersionDiff:
    """Compare two versions of a task. By default, compare the previous version with the newest."""
    from smartspider.core.errors import NotFound

    async def compare(operations: AllOperations) -> VersionDiff:
        task = await operations.get_task(name)
        later = task.version if after is None else after
        earlier = later - 1 if before is None else before
        if earlier < 1:
            raise NotFound(
                f"the task {task.name!r} has no version before {later}",
                hint=f"`smartspider task show {task.name}` shows the task",
            )
        old = await operations.get_task_version(task.id, earlier)
        return rendering.diff_versions(old, await operations.get_task_version(task.id, later))

    return target.run(compare, task=name)


@task.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_target
@printed(message="task {0[name]!r} is deleted; its runs are kept")
def delete(name: str, target: Target, *, yes: bool) -> dict[str, Any]:
    """Delete a task. Its runs and rows are kept; in a data folder, unfinished runs are cancelled."""
    from smartspider.cli.terminal.output import confirm

    async def remove(operations: AllOperations) -> str:
        task = await operations.get_task(name)
        confirm(f"delete the task {task.name!r} with version {task.version}?", "deleting a task", yes=yes)
        installation = local_installation(operations)
        if installation is None:
            await operations.delete_task(task.id)
        else:
            from smartspider.services.tasks.tasks import find_task
            from smartspider.wiring.deletion import delete_local_task

            await delete_local_task(installation, await find_task(installation, task.id))
        return task.id

    return {"task_id": target.run(remove, task=name), "name": name, "deleted": True}
