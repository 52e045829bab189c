"""Schedules."""

from __future__ import annotations

from typing import Unpack

from smartspider.client.connection import new_key, place
from smartspider.client.operations.wired import Wired
from smartspider.views.asked import RuleWords
from smartspider.views.listed import Listed
from smartspider.views.schedules import Fired, FiringView, PreviewedTimes, ScheduleDetail, ScheduleView

SCHEDULES = "/api/schedules"


class ScheduleOperations(Wired):
    """When runs start by themselves."""

    async def list_schedules(
        self, *, task_id: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[ScheduleView]:
        """All schedules, or those of one task, oldest first."""
        params = {"task_id": task_id, "limit": limit, "cursor": cursor}
        return await self.connection.get(SCHEDULES, Listed[ScheduleView], params)

    async def create_schedule(
        self,
        task_id: str,
        *,
        enabled: bool = True,
        idempotency_key: str | None = None,
        **rule: Unpack[RuleWords],
    ) -> ScheduleDetail:
        """Run a task by cron, every so many seconds, or once."""
        body = {"task_id": task_id, "enabled": enabled, **rule}
        return await self.connection.post(SCHEDULES, ScheduleDetail, body, key=idempotency_key or new_key())

    async def preview_schedule(self, **rule: Unpack[RuleWords]) -> PreviewedTimes:
        """The next five times a rule would be due; nothing is kept."""
        return await self.connection.post(f"{SCHEDULES}/preview", PreviewedTimes, rule)

    async def get_schedule(self, schedule_id: str) -> ScheduleDetail:
        """A schedule with the next five times it is due."""
        return await self.connection.get(place(f"{SCHEDULES}/", schedule_id), ScheduleDetail)

    async def change_schedule(
        self, schedule_id: str, *, enabled: bool | None = None, **rule: Unpack[RuleWords]
    ) -> ScheduleDetail:
        """Change a schedule, or switch it on or off; what is not named stays."""
        body = {**rule, **({} if enabled is None else {"enabled": enabled})}
        answer = await self.connection.request("PATCH", place(f"{SCHEDULES}/", schedule_id), body=body)
        return self.connection.read(answer, ScheduleDetail)

    async def delete_schedule(self, schedule_id: str) -> None:
        """Forget a schedule and its history; the runs it started stay."""
        await self.connection.request("DELETE", place(f"{SCHEDULES}/", schedule_id))

    async def list_firings(
        self, schedule_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[FiringView]:
        """Each time it was due, and what came of it; newest first."""
        path = place(f"{SCHEDULES}/", schedule_id, "/firings")
        return await self.connection.get(path, Listed[FiringView], {"limit": limit, "cursor": cursor})

    async def fire_schedule(self, schedule_id: str, *, idempotency_key: str | None = None) -> Fired:
        """Start a run of a schedule now, beside its times."""
        path = place(f"{SCHEDULES}/", schedule_id, "/fire")
        return await self.connection.post(path, Fired, key=idempotency_key or new_key())
