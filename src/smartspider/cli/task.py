"""`task apply|list|show|history|diff|delete`: tasks and their versions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smartspider.cli.place import CLUSTER, JSON, Place, first, placed

if TYPE_CHECKING:
    from smartspider.cli.place import Office
    from smartspider.cli.task_view import Compared
    from smartspider.views.tasks import TaskLine, TaskSaved, VersionView

_TRIES = 10
"""Others may keep the same task at the same time; this often in a row is no chance."""
_VERSIONS = 100
"""Versions that a server tells at a time."""


@click.group()
def task() -> None:
    """Keep tasks with all their versions."""


@task.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--note", default="", metavar="TEXT", help="What this version is for.")
@placed
@JSON
def apply(file: Path, note: str, place: Place, *, as_json: bool) -> None:
    """Keep a task file: as a new task, or as a new version of the task with its name if it differs."""
    import msgspec

    from smartspider.cli import task_view
    from smartspider.services.tasks.checking import check_task
    from smartspider.taskfile.load import load_task, read_document, read_text
    from smartspider.wiring import faults
    from smartspider.installation.data_folder import folder_of

    faults.arm_from_environment()
    remote = place.remote()
    if remote is not None:  # which knows its own version best
        document = read_document(read_text(file), file.name)
        saved = place.do(lambda office: keep(office, document, note))
        task_view.show_saved(saved, remote.url, as_json=as_json)
        return
    spec = check_task(load_task(file)).spec
    if place.cluster() is not None:
        saved = place.do(lambda office: keep(office, msgspec.json.decode(spec.spec), note))
        task_view.show_saved(saved, CLUSTER, as_json=as_json)
        return
    folder = folder_of(place.data, spec.name)
    saved = Place(folder).make(lambda office: keep(office, msgspec.json.decode(spec.spec), note))
    task_view.show_saved(saved, str(folder), as_json=as_json)


async def keep(office: Office, document: Any, note: str) -> TaskSaved:
    """Make sure that the task with this name is this one: created, changed, or left as it is."""
    from smartspider.core.errors import Conflict, NotFound

    name = document.get("name") if isinstance(document, dict) else None
    for _ in range(_TRIES):
        known = await _named(office, name) if isinstance(name, str) and name else None
        try:
            if known is None:
                return await office.create_task(document, note=note)
            return await office.change_task(known.id, document, note=note)
        except (Conflict, NotFound):  # somebody was faster
            continue
    raise Conflict(f"the task {name!r} is being changed by others all the time", hint="try again later")


async def _named(office: Office, name: str) -> TaskLine | None:
    """The task with exactly this name, also where that looks like an id."""
    found = (await office.list_tasks(name=name[:100], limit=1)).items
    return found[0] if found and found[0].name == name else None


@task.command("list")
@placed
@JSON
def list_tasks(place: Place, *, as_json: bool) -> None:
    """All tasks of a server, of the data folders here, or of the one named."""
    from smartspider.cli import task_view
    from smartspider.installation.data_folder import all_folders

    remote = place.remote()
    if remote is not None:
        tasks = place.do(lambda office: first(office.list_tasks))
        found = [(remote.url, one) for one in tasks]
    elif place.cluster() is not None:
        tasks = place.do(lambda office: first(office.list_tasks))
        found = [(CLUSTER, one) for one in tasks]
    else:
        found = []
        for folder in all_folders(place.data):
            tasks = Place(folder).do(lambda office: first(office.list_tasks))
            found += [(str(folder), one) for one in tasks]
    task_view.show_list(found, as_json=as_json)


@task.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(1), default=None, help="Which one.  [default: the newest]")
@placed
@JSON
def show(name: str, version: int | None, place: Place, *, as_json: bool) -> None:
    """A task as JSON, as it is or as it was."""
    from smartspider.cli import task_view

    async def look(office: Office) -> VersionView:
        task = await office.get_task(name)
        return await office.get_task_version(task.id, task.version if version is None else version)

    task_view.show_version(place.do(look, task=name), as_json=as_json)


@task.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@placed
@JSON
def history(name: str, limit: int, place: Place, *, as_json: bool) -> None:
    """The versions of a task, newest first: who, when, why, and what changed."""
    import functools

    from smartspider.cli import task_view

    versions = place.do(
        lambda office: first(functools.partial(office.list_task_versions, name), limit, page=_VERSIONS),
        task=name,
    )
    task_view.show_history(versions, as_json=as_json)


@task.command()
@click.argument("name")
@click.argument("before", type=click.IntRange(1), default=None, required=False, metavar="[A]")
@click.argument("after", type=click.IntRange(1), default=None, required=False, metavar="[B]")
@placed
@JSON
def diff(name: str, before: int | None, after: int | None, place: Place, *, as_json: bool) -> None:
    """What changed from version A of a task to version B; by default from the one before to the newest."""
    from smartspider.cli import task_view
    from smartspider.cli.task_view import compared
    from smartspider.core.errors import NotFound

    async def look(office: Office) -> Compared:
        task = await office.get_task(name)
        later = task.version if after is None else after
        earlier = later - 1 if before is None else before
        if earlier < 1:
            raise NotFound(
                f"the task {task.name!r} has no version before {later}",
                hint=f"`smartspider task show {task.name}` shows the task",
            )
        old = await office.get_task_version(task.id, earlier)
        return compared(old, await office.get_task_version(task.id, later))

    task_view.show_comparison(place.do(look, task=name), as_json=as_json)


@task.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@placed
@JSON
def delete(name: str, place: Place, *, yes: bool, as_json: bool) -> None:
    """Delete a task. Its runs and their rows stay; in a data folder, unfinished ones are cancelled."""
    from smartspider.cli.asking import confirm
    from smartspider.cli.output import print_json, say

    async def remove(office: Office) -> str:
        task = await office.get_task(name)
        confirm(f"delete the task {task.name!r} with version {task.version}?", "deleting a task", yes=yes)
        await office.delete_task(task.id)
        return task.id

    task_id = place.do(remove, task=name)
    if as_json:
        print_json({"task_id": task_id, "name": name, "deleted": True})
    say(f"the task {name!r} is deleted; its runs stay")
