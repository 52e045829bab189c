"""What the services about schedules stand on."""

from __future__ import annotations

import msgspec

from smartspider.core.plan import Plan
from smartspider.core.tasks import TaskRecord
from smartspider.fetch.addresses import AddressPolicy
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.schedule_store import ScheduleStore
from smartspider.interfaces.store import Store
from smartspider.interfaces.task_store import TaskStore
from smartspider.services.starting import runnable_plan


class Timetable(msgspec.Struct, frozen=True):
    """Schedules, the tasks they run, and the addresses that the installation opens."""

    schedules: ScheduleStore
    tasks: TaskStore
    store: Store
    clock: Clock
    policy: AddressPolicy

    async def plan(self, task: TaskRecord) -> Plan:
        """The plan of the newest version of a task; raises what keeps it from being run here."""
        return runnable_plan(await self.tasks.version(task.id, task.version), self.policy)
