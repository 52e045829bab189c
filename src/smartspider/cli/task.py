"""`task apply|list|show|history|diff|delete`: tasks and their versions in a data folder."""

from __future__ import annotations

from pathlib import Path

import click

from smartspider.cli.runs import DATA, JSON


@click.group()
def task() -> None:
    """Keep tasks with all their versions."""


@task.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--note", default="", metavar="TEXT", help="What this version is for.")
@DATA
@JSON
def apply(file: Path, note: str, data: Path | None, *, as_json: bool) -> None:
    """Keep a task file: as a new task, or as a new version of the task with its name if it differs."""
    from smartspider.cli import task_view
    from smartspider.cli.actor import cli_actor
    from smartspider.services.checking import check_task
    from smartspider.services.tasks import apply as apply_task
    from smartspider.taskfile.load import load_task
    from smartspider.wiring import faults
    from smartspider.wiring.folder import folder_of, open_folder
    from smartspider.wiring.loop import run_loop

    faults.arm_from_environment()
    checked = check_task(load_task(file))
    with open_folder(folder_of(data, checked.spec.name), cli_actor()) as folder:
        applied = run_loop(apply_task(folder.tasks, checked.spec, actor=folder.actor, note=note))
    task_view.show_applied(applied, checked.missing, folder.path, as_json=as_json)


@task.command("list")
@DATA
@JSON
def list_tasks(data: Path | None, *, as_json: bool) -> None:
    """All tasks of the data folders here, or of the one named."""
    from smartspider.cli import task_view
    from smartspider.core.tasks import TaskRecord
    from smartspider.wiring.folder import DataFolder, all_folders, open_folder
    from smartspider.wiring.loop import run_loop

    async def find(folder: DataFolder) -> list[TaskRecord]:
        found: list[TaskRecord] = []
        while piece := await folder.tasks.find(after=found[-1].id if found else 0, limit=1000):
            found += piece
        return found

    found: list[tuple[Path, TaskRecord]] = []
    for place in all_folders(data):
        with open_folder(place) as folder:
            found += [(place, one) for one in run_loop(find(folder))]
    task_view.show_list(found, as_json=as_json)


@task.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(1), default=None, help="Which one.  [default: the newest]")
@DATA
@JSON
def show(name: str, version: int | None, data: Path | None, *, as_json: bool) -> None:
    """A task as JSON, as it is or as it was."""
    from smartspider.cli import task_view
    from smartspider.wiring.folder import folder_with, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(folder_with(data, name)) as folder:
        found = run_loop(folder.tasks.get(name))
        shown = run_loop(folder.tasks.version(found.id, found.version if version is None else version))
    task_view.show_version(found, shown, as_json=as_json)


@task.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@DATA
@JSON
def history(name: str, limit: int, data: Path | None, *, as_json: bool) -> None:
    """The versions of a task, newest first: who, when, why, and what changed."""
    from smartspider.cli import task_view
    from smartspider.services.tasks import history as revisions_of
    from smartspider.wiring.folder import folder_with, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(folder_with(data, name)) as folder:
        found = run_loop(folder.tasks.get(name))
        revisions = run_loop(revisions_of(folder.tasks, found, limit=limit))
    task_view.show_history(revisions, as_json=as_json)


@task.command()
@click.argument("name")
@click.argument("before", type=click.IntRange(1), default=None, required=False, metavar="[A]")
@click.argument("after", type=click.IntRange(1), default=None, required=False, metavar="[B]")
@DATA
@JSON
def diff(name: str, before: int | None, after: int | None, data: Path | None, *, as_json: bool) -> None:
    """What changed from version A of a task to version B; by default from the one before to the newest."""
    from smartspider.cli import task_view
    from smartspider.services.tasks import compare
    from smartspider.wiring.folder import folder_with, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(folder_with(data, name)) as folder:
        found = run_loop(folder.tasks.get(name))
        comparison = run_loop(compare(folder.tasks, found, before, after))
    task_view.show_comparison(name, comparison, as_json=as_json)


@task.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@DATA
@JSON
def delete(name: str, data: Path | None, *, yes: bool, as_json: bool) -> None:
    """Delete a task. Its runs and their rows stay; one that is not finished is cancelled."""
    import sys

    from smartspider.cli.actor import cli_actor
    from smartspider.cli.output import print_json, say
    from smartspider.core.errors import NotAllowed
    from smartspider.wiring.deleting import delete_task
    from smartspider.wiring.folder import folder_with, open_folder
    from smartspider.wiring.loop import run_loop

    with open_folder(folder_with(data, name), cli_actor()) as folder:
        found = run_loop(folder.tasks.get(name))
        if not yes and not sys.stdin.isatty():
            raise NotAllowed("deleting a task must be confirmed", hint="add --yes")
        if not yes and not click.confirm(f"delete the task {name!r} with version {found.version}?", err=True):
            raise NotAllowed("nothing was deleted")
        run_loop(delete_task(folder, found))
    if as_json:
        print_json({"task_id": str(found.id), "name": name, "deleted": True})
    say(f"the task {name!r} is deleted; its runs stay")
