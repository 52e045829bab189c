"""Schedules, and what came of each time they were due."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.plan import Plan
from smartspider.core.schedules import Firing, Outcome, Schedule, ScheduleRule


class Due(msgspec.Struct, frozen=True):
    """What is to be made of a schedule that is due: the firing, and when it is due the next time.

    With a `plan` a run is created in the same transaction; `cancels` is a run that ends for it.
    """

    schedule_id: int
    fire_at: float
    outcome: Outcome
    reason: str = ""
    plan: Plan | None = None
    version: int | None = None
    cancels: int | None = None
    next_fire_at: float | None = None
    run_at: float | None = None


class ScheduleStore(Protocol):
    """1. A schedule fires at most once for each time it is due: (schedule, time) is unique, also with several
       keepers, and the run is created in the same transaction.
    2. A write of a keeper that is not the leader any more (`epoch`) is refused and changes nothing.
    3. Every change by a person and its audit entry are one transaction; so are a firing and its run.
    4. Due schedules are found by a key, however many there are.
    5. A deleted task takes its schedules with it.
    """

    async def add(
        self,
        task_id: int,
        rule: ScheduleRule,
        *,
        actor: str,
        is_enabled: bool = True,
        next_fire_at: float | None,
        run_at: float | None,
        is_of_task: bool = False,
    ) -> Schedule:
        """A new schedule."""

    async def change(
        self,
        schedule_id: int,
        rule: ScheduleRule,
        *,
        actor: str,
        is_enabled: bool,
        next_fire_at: float | None,
        run_at: float | None,
    ) -> Schedule:
        """Another rule, or switched on or off."""

    async def get(self, schedule_id: int) -> Schedule:
        """A schedule."""

    async def find(self, *, task_id: int | None = None, after: int = 0, limit: int = 100) -> list[Schedule]:
        """Schedules in the order they were made."""

    async def delete(self, schedule_id: int, *, actor: str) -> None:
        """Forget a schedule and its history."""

    async def due(self, *, limit: int = 100) -> list[Schedule]:
        """Enabled schedules whose `run_at` has come, the longest due first."""

    async def fire(self, due: Due, *, epoch: int) -> Firing | None:
        """Carry it out; None when that time was fired before."""

    async def firings(
        self, schedule_id: int, *, before: float | None = None, limit: int = 100
    ) -> list[Firing]:
        """What came of it so far, newest first."""

    async def firing_of_run(self, run_id: int) -> Firing | None:
        """Which firing made a run."""
