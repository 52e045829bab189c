"""Deleting a run with everything an installation has of it, or a task."""

from __future__ import annotations

from contextlib import nullcontext, suppress

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.core.runs import UNFINISHED
from smartspider.core.tasks import TaskRecord
from smartspider.services.desk import Desk
from smartspider.telemetry.logs import log_files
from smartspider.wiring.folder import DataFolder, owing_mark, run_lock, task_lock
from smartspider.wiring.known import forget_known
from smartspider.wiring.premises import Premises


async def delete_run(folder: DataFolder, run_id: int) -> str:
    """Delete a run, its logs and its marks; why its space could not be given back, or nothing.

    Nobody crawls the run, so one that still says so was left behind by a process that died.
    """
    await folder.store.get_run(run_id)  # before the lock, which would make a file for a run that never was
    with run_lock(folder.path, run_id, is_last=True):
        await folder.frontier.reclaim()
        if (await folder.store.get_run(run_id)).state in ("running", "stopping"):
            if any(worker.is_alive for worker in await folder.workers.find()):
                raise NotAllowed(f"run {run_id} may be in the hands of a worker", hint="stop it first")
            await folder.store.set_state(run_id, "cancelled", "deleted", actor=folder.actor)
        await forget_run(folder, run_id, actor=folder.actor)
    try:
        await folder.store.compact()
    except StoreUnavailable as error:
        return error.message
    return ""


async def delete_run_of_server(premises: Premises, desk: Desk, principal: Principal, run_id: int) -> None:
    """Delete a run that no worker has in its hands or may take up; its space is used for what comes next.

    Workers of a server lock no run, so its state decides here, and the store checks it once more.
    """
    run = await desk.run_to_change(principal, run_id)
    if run.state in ("running", "stopping"):
        raise NotAllowed(f"run {run_id} is {run.state}", hint="stop or cancel it first, then delete it")
    with nullcontext() if premises.is_cluster else run_lock(premises.path, run_id, is_last=True):
        if run.in_flight:
            await premises.frontier.reclaim()
        await forget_run(premises, run_id, actor=principal.name)


async def forget_run(premises: Premises, run_id: int, *, actor: str) -> None:
    """Delete a run that is over, with its files."""
    await premises.store.delete_run(run_id, actor=actor)
    await forget_known(premises, run_id)
    for file in (*log_files(premises.path, run_id), owing_mark(premises.path, run_id)):
        with suppress(OSError):  # the run is gone; a file that must stay means nothing any more
            file.unlink(missing_ok=True)


async def delete_task(premises: Premises, task: TaskRecord) -> TaskRecord:
    """Delete a task that nobody crawls; its unfinished runs are cancelled, for nothing goes on with them."""
    with nullcontext() if premises.is_cluster else task_lock(premises.path, task.name):
        await premises.frontier.reclaim()
        for run in await premises.store.find_runs(task.name):
            if run.task_id == task.id and run.state in UNFINISHED:
                await premises.store.set_state(
                    run.id, "cancelled", "its task was deleted", actor=premises.actor
                )
        return await premises.tasks.delete(task.id, actor=premises.actor)
