"""The run that was made last."""

from __future__ import annotations

from smartspider.core.errors import NotFound
from smartspider.core.runs import Run
from smartspider.interfaces.store import Store

CRAWL = "`smartspider crawl TASK` makes one"
START = "`smartspider task apply FILE` keeps a task, and `smartspider run start NAME` starts a run of it"
"""What helps in a data folder of one's own, and what helps on a server or a cluster."""


async def newest_run(store: Store, task_id: int | None = None) -> Run | None:
    """The newest run of a task, or of all; None: there is none yet."""
    found = await store.list_runs(task_id=task_id, limit=1)
    return found[0] if found else None


async def find_run(store: Store, run_id: int | None, *, hint: str = START) -> Run:
    """The run given, or the newest one; the hint is for who finds none."""
    if run_id is not None:
        return await store.get_run(run_id)
    run = await newest_run(store)
    if run is None:
        raise NotFound("there is no run yet", hint=hint)
    return run
