"""What the services about runs stand on."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import NotAllowed
from smartspider.core.runs import Run
from smartspider.core.tasks import TaskRecord
from smartspider.fetch.addresses import AddressPolicy
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.frontier import Frontier
from smartspider.interfaces.insight import Insight
from smartspider.interfaces.seen import Layers
from smartspider.interfaces.store import Store
from smartspider.interfaces.task_store import TaskStore
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.services.newest import newest_run
from smartspider.services.trouble import Footing


class Desk(msgspec.Struct, frozen=True):
    """Store, tasks and workers, the addresses that the installation opens, and the time."""

    store: Store
    tasks: TaskStore
    frontier: Frontier
    insight: Insight
    workers: WorkerRegistry
    policy: AddressPolicy
    clock: Clock
    layers: Layers = Layers()
    """Before the store, where there are any."""
    footing: Footing | None = None
    """What all runs stand on; None: nobody asks for it."""

    async def run_to_change(self, principal: Principal, run_id: int) -> Run:
        """A run that the principal may change: runs belong to the owner of their task."""
        run = await self.store.get_run(run_id)
        task = await self.tasks.get(run.task_id)
        require(principal, "runs", "write", owner=task.owner)
        return run

    async def newest_run(self, task: TaskRecord) -> Run | None:
        """The run of a task that was made last."""
        return await newest_run(self.store, task.id)

    async def newest_run_to_act_on(self, task: TaskRecord) -> Run:
        """The same, where there must be one."""
        run = await self.newest_run(task)
        if run is None:
            raise NotAllowed(f"the task {task.name!r} has no run yet", hint="start it first")
        return run
