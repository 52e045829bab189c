"""Schedules and notices of a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from smartspider.core.notices import NoticeKind, NoticeName
from smartspider.services import notices
from smartspider.services.paging import number
from smartspider.views.asked import RuleWords
from smartspider.views.listed import Listed
from smartspider.views.notices import (
    DeliveryView,
    NoticeTargetMade,
    NoticeTargetView,
    TriedView,
)
from smartspider.views.schedules import (
    Fired,
    FiringView,
    PreviewedTimes,
    ScheduleDetail,
    ScheduleView,
)
from smartspider.wiring.office.tasks import TaskOffice


class TellingOffice(TaskOffice):
    """When runs start, and who hears of them. Words and answers are those of the API."""

    async def list_schedules(
        self, *, task_id: str | None = None, limit: int = 100, cursor: str | None = None
    ) -> Listed[ScheduleView]:
        """All schedules, or those of one task, oldest first."""
        from smartspider.services import schedules

        task = None if task_id is None else await self._task(task_id)
        return await schedules.find(self.table, task, cursor=cursor, limit=limit)

    async def create_schedule(
        self, task_id: str, *, enabled: bool = True, **rule: Unpack[RuleWords]
    ) -> ScheduleDetail:
        """Run a task by cron, every so many seconds, or once."""
        from smartspider.services import schedules

        task = await self._task(task_id)
        return await schedules.create(self.table, self.principal, task, _given(rule), is_enabled=enabled)

    async def preview_schedule(self, **rule: Unpack[RuleWords]) -> PreviewedTimes:
        """The next five times a rule would be due; nothing is kept."""
        from smartspider.services import schedules

        return schedules.preview(self.table, _given(rule))

    async def get_schedule(self, schedule_id: str) -> ScheduleDetail:
        """A schedule with the next five times it is due."""
        from smartspider.services import schedules

        return await schedules.show(self.table, number(schedule_id, "schedule"))

    async def change_schedule(
        self, schedule_id: str, *, enabled: bool | None = None, **rule: Unpack[RuleWords]
    ) -> ScheduleDetail:
        """Change a schedule, or switch it on or off; what is not named stays."""
        from smartspider.services import schedules

        id_ = number(schedule_id, "schedule")
        return await schedules.change(self.table, self.principal, id_, _given(rule), is_enabled=enabled)

    async def delete_schedule(self, schedule_id: str) -> None:
        """Forget a schedule and its history; the runs it started stay."""
        from smartspider.services import schedules

        await schedules.delete(self.table, self.principal, number(schedule_id, "schedule"))

    async def list_firings(
        self, schedule_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[FiringView]:
        """Each time it was due, and what came of it; newest first."""
        from smartspider.services import schedules

        id_ = number(schedule_id, "schedule")
        return await schedules.firings(self.table, id_, cursor=cursor, limit=limit)

    async def fire_schedule(self, schedule_id: str) -> Fired:
        """Start a run of a schedule now, beside its times."""
        from smartspider.services import schedules

        firing = await schedules.fire(self.table, self.principal, number(schedule_id, "schedule"))
        return Fired(str(firing.run_id), str(firing.schedule_id))

    async def list_notices(self, *, limit: int = 100, cursor: str | None = None) -> Listed[NoticeTargetView]:
        """Who is told, oldest first."""
        return await notices.find(self.premises.notices, self.principal, cursor=cursor, limit=limit)

    async def create_notice(
        self, *, kind: NoticeKind, address: str, events: Sequence[NoticeName], task_id: str | None = None
    ) -> NoticeTargetMade:
        """Tell somebody what becomes of runs; the answer holds the secret of the signatures, this once."""
        task = None if task_id is None else await self._task(task_id)
        return await notices.create(
            *(self.premises.notices, self.principal, (kind, address, events), task),
            reach=notices.Reach(self.desk.policy, has_mail=bool(self.settings.smtp_url)),
            secret_of=self.keys.webhook_secret,
        )

    async def delete_notice(self, notice_id: str) -> None:
        """Tell somebody nothing more."""
        await notices.delete(self.premises.notices, self.principal, number(notice_id, "notice target"))

    async def test_notice(self, notice_id: str) -> TriedView:
        """Send a notice for trying out, once and at once."""
        from smartspider.wiring.posting import post_of

        premises, id_ = self.premises, number(notice_id, "notice target")
        target = await notices.to_change(premises.notices, self.principal, id_)
        post = post_of(self.settings, self.keys, premises.clock)
        return await notices.try_out(
            target, post, clock=premises.clock, audit=premises.audit, actor=self.principal.name
        )

    async def list_deliveries(
        self, notice_id: str, *, limit: int = 100, cursor: str | None = None
    ) -> Listed[DeliveryView]:
        """What was told, newest first: delivered, waiting for another try, or given up."""
        id_ = number(notice_id, "notice target")
        return await notices.deliveries(self.premises.notices, id_, cursor=cursor, limit=limit)


def _given(rule: RuleWords) -> dict[str, Any]:
    """What is said of a rule: nothing is not said."""
    return {name: value for name, value in rule.items() if value is not None}
