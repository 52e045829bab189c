"""The run that was made last."""

from __future__ import annotations

from smartspider.core.runs import Run
from smartspider.interfaces.store import Store


async def newest_run(store: Store, task_id: int | None = None) -> Run | None:
    """The newest run of a task, or of all; None: there is none yet."""
    found = await store.list_runs(task_id=task_id, limit=1)
    return found[0] if found else None
