"""Schedules: runs that start by themselves."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from smartspider.operations.operation import Body, Operations, Replay, operation
from smartspider.services.inputs import parse_id
from smartspider.views.arguments import ScheduleArguments
from smartspider.views.listed import Listed
from smartspider.views.params import Cursor, Id, IdempotencyKey, Limit, body, query
from smartspider.views.schedules import Fired, FiringView, PreviewedTimes, ScheduleDetail, ScheduleView

SCHEDULE_ID = "/api/schedules/{schedule_id}"


class ScheduleOperations(Operations):
    """Schedules of tasks."""

    @operation(
        "GET",
        "/api/schedules",
        needs=("schedules", "read"),
        summary="List schedules",
        answer="A page of schedules",
    )
    async def list_schedules(
        self,
        *,
        task_id: Annotated[
            str | None, query("Only schedules of this task: its id or name.", max_length=200)
        ] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Listed[ScheduleView]:
        """List all schedules, or those of one task, oldest first."""
        from smartspider.services.schedules import schedules
        from smartspider.services.tasks.tasks import find_task

        task = None if task_id is None else await find_task(self.installation, task_id)
        return await schedules.list_schedules(self.installation, task, cursor=cursor, limit=limit)

    @operation(
        "POST",
        "/api/schedules",
        needs=("schedules", "write"),
        summary="Create a schedule",
        answer="The schedule",
        status=201,
        location="/api/schedules/{id}",
        replay=Replay(),
        body=Body(
            "ScheduleBody",
            "A new schedule.",
            examples=(
                {"task_id": "1", "cron": "0 6 * * *", "timezone": "Europe/Berlin", "enabled": True},
                {"task_id": "shop_prices", "every_s": 3600, "overlap": "queue", "retries": 2},
            ),
        ),
    )
    async def create_schedule(
        self,
        task_id: Annotated[str, body("The id of a task, or its name.", min_length=1, max_length=200)],
        *,
        enabled: Annotated[bool, body("True if it starts runs.")] = True,
        idempotency_key: IdempotencyKey = None,
        **rule: Unpack[ScheduleArguments],
    ) -> ScheduleDetail:
        """Create a schedule that starts runs of a task by cron, at an interval, or once."""
        from smartspider.services.schedules import schedules
        from smartspider.services.tasks.tasks import find_task

        task = await find_task(self.installation, task_id)
        return await schedules.create(
            self.installation, self.principal, task, _given(rule), is_enabled=enabled
        )

    @operation(
        "POST",
        "/api/schedules/preview",
        needs=("schedules", "read"),
        summary="Preview a schedule",
        answer="The next five start times",
        body=Body(
            "RuleBody",
            "When runs start, and how late and failed ones are treated: one of `cron`, `every_s`, `at`.",
            examples=({"cron": "0 6 * * *", "timezone": "Europe/Berlin"},),
        ),
    )
    async def preview_schedule(self, **rule: Unpack[ScheduleArguments]) -> PreviewedTimes:
        """Return the next five start times of a schedule without saving it."""
        from smartspider.services.schedules import schedules

        return schedules.preview(self.installation, _given(rule))

    @operation(
        "GET", SCHEDULE_ID, needs=("schedules", "read"), summary="Get a schedule", answer="The schedule"
    )
    async def get_schedule(self, schedule_id: Id) -> ScheduleDetail:
        """Return a schedule and its next five start times."""
        from smartspider.services.schedules import schedules

        return await schedules.show(self.installation, parse_id(schedule_id, "schedule"))

    @operation(
        "PATCH",
        SCHEDULE_ID,
        needs=("schedules", "write"),
        summary="Update a schedule",
        answer="The updated schedule",
        body=Body(
            "ScheduleChange",
            "Fields to change; omitted fields stay unchanged.",
            examples=({"enabled": False}, {"cron": "30 5 * * *"}),
        ),
    )
    async def change_schedule(
        self,
        schedule_id: Id,
        *,
        enabled: Annotated[bool | None, body("True if it starts runs.")] = None,
        **rule: Unpack[ScheduleArguments],
    ) -> ScheduleDetail:
        """Change, enable or disable a schedule. A schedule defined in a task file can only be enabled or
        disabled.
        """
        from smartspider.services.schedules import schedules

        id_ = parse_id(schedule_id, "schedule")
        return await schedules.change(
            self.installation, self.principal, id_, _given(rule), is_enabled=enabled
        )

    @operation(
        "DELETE",
        SCHEDULE_ID,
        needs=("schedules", "write"),
        summary="Delete a schedule",
        answer="The schedule was deleted; its runs are kept",
        status=204,
    )
    async def delete_schedule(self, schedule_id: Id) -> None:
        """Delete a schedule and its history. Its runs are kept."""
        from smartspider.services.schedules import schedules

        id_ = parse_id(schedule_id, "schedule")
        await schedules.delete(self.installation, self.principal, id_)

    @operation(
        "GET",
        f"{SCHEDULE_ID}/firings",
        needs=("schedules", "read"),
        summary="List the firings of a schedule",
        answer="A page of firings",
    )
    async def list_firings(
        self, schedule_id: Id, *, limit: Limit = 100, cursor: Cursor = None
    ) -> Listed[FiringView]:
        """List the firings of a schedule, newest first: started, skipped, missed or failed,
        with the reason.
        """
        from smartspider.services.schedules import schedules

        id_ = parse_id(schedule_id, "schedule")
        return await schedules.list_firings(self.installation, id_, cursor=cursor, limit=limit)

    @operation(
        "POST",
        f"{SCHEDULE_ID}/fire",
        needs=("schedules", "write"),
        summary="Start a run of a schedule now",
        answer="The run",
        status=202,
        location="/api/runs/{run_id}",
        replay=Replay(),
    )
    async def fire_schedule(self, schedule_id: Id, *, idempotency_key: IdempotencyKey = None) -> Fired:
        """Start a run of a schedule now. Its next start time does not change."""
        from smartspider.services.schedules import schedules

        id_ = parse_id(schedule_id, "schedule")
        firing = await schedules.fire(self.installation, self.principal, id_)
        return Fired(str(firing.run_id), str(firing.schedule_id))


def _given(rule: ScheduleArguments) -> dict[str, Any]:
    """Leave out what is null: it stands for the default."""
    return {name: value for name, value in rule.items() if value is not None}
