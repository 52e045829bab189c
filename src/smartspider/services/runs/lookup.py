"""Find the run that a call is about."""

from __future__ import annotations

from smartspider.core.access import Principal, require
from smartspider.core.errors import NotAllowed, NotFound
from smartspider.core.runs.run import Run
from smartspider.core.tasks import TaskRecord
from smartspider.installation.installation import Installation
from smartspider.store.runs.store import RunStore

START = "`smartspider crawl TASK` or, on a server, `smartspider run start NAME` starts one"


async def newest_run(store: RunStore, task_id: int | None = None) -> Run | None:
    """Return the newest run of a task, or of all tasks; None if there is none."""
    found = await store.list_runs(task_id=task_id, limit=1)
    return found[0] if found else None


async def find_run(installation: Installation, run_id: int | None) -> Run:
    """Return the run with this id, or the newest one."""
    if run_id is not None:
        return await installation.store.get_run(run_id)
    run = await newest_run(installation.store)
    if run is None:
        raise NotFound("there is no run yet", hint=START)
    return run


async def owned_run(installation: Installation, principal: Principal, run_id: int) -> Run:
    """Return a run that the principal may change: runs belong to the owner of their task."""
    run = await installation.store.get_run(run_id)
    task = await installation.tasks.get(run.task_id)
    require(principal, "runs", "write", owner=task.owner)
    return run


async def newest_run_of(installation: Installation, task: TaskRecord) -> Run:
    """Return the newest run of a task; raise `NotAllowed` if there is none."""
    run = await newest_run(installation.store, task.id)
    if run is None:
        raise NotAllowed(f"the task {task.name!r} has no run yet", hint="start it first")
    return run
