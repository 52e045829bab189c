"""Schedules, and what came of each time they were due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import RunState
from smartspider.core.schedules import Firing, Outcome, ScheduleRecord, ScheduleRule

ACTIVE: tuple[RunState, ...] = ("created", "queued", "running", "paused", "stopping")
"""States of a run that another one would overlap with; a stopped one is waited for by nobody."""

MOST_PER_TASK = 100
"""Schedules of one task."""
KEPT_FIRINGS = 1000
"""Firings of a schedule that are kept, the newest ones."""


class Due(msgspec.Struct, frozen=True):
    """What is to be made of a schedule that is due: the firing, and when it is due the next time.

    With a `plan` a run of that version is created in the same transaction; `cancels` are runs that end for
    it. With `is_only` it is a `Conflict` when another run of the task is active.
    """

    schedule_id: int
    fire_at: float
    outcome: Outcome
    reason: str = ""
    plan: Plan | None = None
    version: int | None = None
    cancels: Sequence[int] = ()
    is_only: bool = False
    next_fire_at: float | None = None


class ScheduleStore(Protocol):
    """1. A schedule fires at most once for each time it is due: (schedule, time) is unique, also with several
       keepers, and the run is created in the same transaction.
    2. A write of a keeper that is not the leader any more (`epoch`) is refused and changes nothing.
    3. Every change by a person and its audit entry are one transaction; so are a firing and its run.
    4. Due schedules are found by a key, however many there are.
    5. A deleted task takes its schedules with it.
    6. A run is started later than it is due by a part of the jitter that is always the same for one time.
    7. A firing whose rule has retries is watched until its run ended well or was tried again often enough.
    """

    async def add(
        self,
        task_id: int,
        rule: ScheduleRule,
        *,
        actor: str,
        next_fire_at: float | None,
        is_enabled: bool = True,
        is_of_task: bool = False,
    ) -> ScheduleRecord:
        """A new schedule."""

    async def change(
        self,
        schedule_id: int,
        rule: ScheduleRule,
        *,
        actor: str,
        is_enabled: bool,
        next_fire_at: float | None,
    ) -> ScheduleRecord:
        """Another rule, or switched on or off."""

    async def get(self, schedule_id: int) -> ScheduleRecord:
        """A schedule."""

    async def of_task(self, task_id: int) -> ScheduleRecord | None:
        """The schedule that stands in the task itself."""

    async def find(
        self, *, task_id: int | None = None, after: int = 0, limit: int = 100
    ) -> list[ScheduleRecord]:
        """Schedules in the order they were made."""

    async def delete(self, schedule_id: int, *, actor: str) -> None:
        """Forget a schedule and its history."""

    async def due(self, *, limit: int = 100) -> list[ScheduleRecord]:
        """Enabled schedules whose `run_at` has come, the longest due first."""

    async def fire(self, due: Due, *, epoch: int) -> Firing | None:
        """Carry it out; None when that time was fired before."""

    async def fire_by_hand(
        self, schedule_id: int, plan: Plan, *, version: int, actor: str, is_only: bool
    ) -> Firing:
        """A run beside the times of the schedule, which stay as they are."""

    async def postpone(self, schedule_id: int, until: float, *, epoch: int) -> None:
        """What is due is looked at again then."""

    async def firings(
        self, schedule_id: int, *, before: float | None = None, limit: int = 100
    ) -> list[Firing]:
        """What came of it so far, newest first."""

    async def watched(self, *, limit: int = 100) -> list[Firing]:
        """Watched firings whose run is over or gone."""

    async def try_again(
        self, firing: Firing, *, epoch: int, reason: str, plan: Plan | None = None, version: int | None = None
    ) -> Firing | None:
        """Count another try, with a new run when there is a plan; None when that was done before."""

    async def let_be(self, firing: Firing, *, epoch: int) -> None:
        """Watch a firing no longer."""
