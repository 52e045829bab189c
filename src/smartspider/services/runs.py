"""Which run a command is about."""

from __future__ import annotations

from smartspider.core.errors import NotFound
from smartspider.core.runs import Run
from smartspider.interfaces.store import Store


async def find_run(store: Store, run_id: int | None) -> Run:
    """The run given, or the newest one."""
    if run_id is not None:
        return await store.get_run(run_id)
    runs = await store.find_runs()
    if not runs:
        raise NotFound("there is no run in this data folder yet", hint="`smartspider crawl TASK` makes one")
    return runs[0]
