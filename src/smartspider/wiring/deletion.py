"""Delete runs and tasks with all their files."""

from __future__ import annotations

from contextlib import nullcontext, suppress

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.core.runs.run import UNFINISHED
from smartspider.core.tasks import TaskRecord
from smartspider.installation.data_folder import DataFolder, pending_output_marker, run_lock, task_lock
from smartspider.installation.installation import Installation
from smartspider.services.runs.lookup import owned_run
from smartspider.telemetry.log_files import log_files


async def delete_local_run(folder: DataFolder, run_id: int) -> str:
    """Delete a run of a data folder with its files; return why its space could not be freed, or "".

    A run that still says `running` although nothing locks it was left behind by a process that died.
    """
    await folder.store.get_run(run_id)  # before the lock, which creates a file
    with run_lock(folder.path, run_id, is_last=True):
        await folder.frontier.reclaim()
        if (await folder.store.get_run(run_id)).state in ("running", "stopping"):
            if any(worker.is_alive for worker in await folder.workers.find()):
                raise NotAllowed(f"run {run_id} may be held by a worker", hint="stop it first")
            await folder.store.set_state(run_id, "cancelled", "deleted", actor=folder.actor)
        await remove_run(folder, run_id, actor=folder.actor)
    try:
        await folder.store.compact()
    except StoreUnavailable as error:
        return error.message
    return ""


async def delete_run(installation: Installation, principal: Principal, run_id: int) -> None:
    """Delete a run that no worker holds or may take up; its space is reused.

    The workers of a server lock no run, so its state decides; the store checks it again.
    """
    run = await owned_run(installation, principal, run_id)
    if run.state in ("running", "stopping"):
        raise NotAllowed(f"run {run_id} is {run.state}", hint="stop or cancel it first, then delete it")
    with nullcontext() if installation.is_cluster else run_lock(installation.path, run_id, is_last=True):
        if run.in_flight:
            await installation.frontier.reclaim()
        await remove_run(installation, run_id, actor=principal.name)


async def remove_run(installation: Installation, run_id: int, *, actor: str) -> None:
    """Delete a finished run with its files."""
    await installation.store.delete_run(run_id, actor=actor)
    for file in (*log_files(installation.path, run_id), pending_output_marker(installation.path, run_id)):
        with suppress(OSError):  # the run is deleted: a file that stays does no harm
            file.unlink(missing_ok=True)


async def delete_local_task(installation: Installation, task: TaskRecord) -> TaskRecord:
    """Delete a task that no command crawls; cancel its unfinished runs, which nothing would continue."""
    with nullcontext() if installation.is_cluster else task_lock(installation.path, task.name):
        await installation.frontier.reclaim()
        for run in await installation.store.find_runs(task.name):
            if run.task_id == task.id and run.state in UNFINISHED:
                await installation.store.set_state(
                    run.id, "cancelled", "its task was deleted", actor=installation.actor
                )
        return await installation.tasks.delete(task.id, actor=installation.actor)
