"""Schedules: made, changed, looked at, fired by hand; and those that stand in a task."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import Conflict, NotAllowed, NotFound, RequestInvalid
from smartspider.core.schedules import Firing, ScheduleRecord, ScheduleRule
from smartspider.core.tasks import SYSTEM, TaskRecord, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.inputs import moment_of, page_of, place_of
from smartspider.services.runs.start import newest_plan
from smartspider.taskfile.load import parse_schedule
from smartspider.taskfile.model.schedule import WHEN
from smartspider.taskfile.timing import next_time, next_times
from smartspider.views.listed import Listed
from smartspider.views.schedules import (
    FiringView,
    PreviewedTimes,
    ScheduleDetail,
    ScheduleView,
    firing_view,
    schedule_detail,
    schedule_view,
)
from smartspider.views.times import format_time

SHOWN = 5


async def list_schedules(
    installation: Installation, task: TaskRecord | None, *, cursor: str | None, limit: int
) -> Listed[ScheduleView]:
    """Schedules of a task or of all, oldest first."""
    of = None if task is None else task.id
    found = await installation.schedules.find(task_id=of, after=place_of(cursor) or 0, limit=limit + 1)
    names = {one: (await installation.tasks.get(one)).name for one in {each.task_id for each in found}}
    return page_of(
        found, limit, lambda one: one.id, lambda one: schedule_view(one, names.get(one.task_id, ""))
    )


async def firings(
    installation: Installation, schedule_id: int, *, cursor: str | None, limit: int
) -> Listed[FiringView]:
    """Each time a schedule was due and what came of it, newest first."""
    found = await installation.schedules.firings(schedule_id, before=moment_of(cursor), limit=limit + 1)
    return page_of(found, limit, lambda one: repr(one.fire_at), firing_view)


async def create(
    installation: Installation,
    principal: Principal,
    task: TaskRecord,
    knobs: Mapping[str, Any],
    *,
    is_enabled: bool,
) -> ScheduleDetail:
    """A new schedule of a task; `knobs` are those of the task's `schedule`."""
    require(principal, "schedules", "write", owner=task.owner)
    if task.is_deleted:
        raise NotFound(f"the task {task.name!r} is deleted", hint="create it anew")
    rule = parse_schedule(knobs)
    next_at = _first_time(installation, rule)
    schedule = await installation.schedules.add(
        task.id, rule, actor=principal.name, next_fire_at=next_at, is_enabled=is_enabled
    )
    return _detail(installation, schedule, task)


async def change(
    installation: Installation,
    principal: Principal,
    schedule_id: int,
    knobs: Mapping[str, Any],
    *,
    is_enabled: bool | None = None,
) -> ScheduleDetail:
    """Another rule, where knobs are given, or switched on or off; what is not named stays.

    A schedule that is switched on again goes on with the next time from now.
    """
    schedule, task = await _to_change(installation, principal, schedule_id)
    if knobs and schedule.is_of_task:
        raise _in_task(task)
    rule = parse_schedule(_merged(schedule.rule, knobs)) if knobs else schedule.rule
    enabled = schedule.is_enabled if is_enabled is None else is_enabled
    if (rule, enabled) == (schedule.rule, schedule.is_enabled):
        return _detail(installation, schedule, task)
    next_at = _first_time(installation, rule) if rule != schedule.rule else _going_on(installation, schedule)
    changed = await installation.schedules.change(
        schedule.id, rule, actor=principal.name, is_enabled=enabled, next_fire_at=next_at
    )
    return _detail(installation, changed, task)


async def delete(installation: Installation, principal: Principal, schedule_id: int) -> None:
    """Forget a schedule; runs it started stay."""
    schedule, task = await _to_change(installation, principal, schedule_id)
    if schedule.is_of_task:
        raise _in_task(task)
    await installation.schedules.delete(schedule.id, actor=principal.name)


async def show(installation: Installation, schedule_id: int) -> ScheduleDetail:
    """A schedule with the next times it is due."""
    schedule = await installation.schedules.get(schedule_id)
    return _detail(installation, schedule, await installation.tasks.get(schedule.task_id))


async def fire(installation: Installation, principal: Principal, schedule_id: int) -> Firing:
    """A run now, beside the times of the schedule; a `Conflict` while another is active and may not be."""
    schedule, task = await _to_change(installation, principal, schedule_id)
    require(principal, "runs", "write", owner=task.owner)
    return await installation.schedules.fire_now(
        schedule.id,
        await newest_plan(installation, task),
        version=task.version,
        actor=principal.name,
        is_only=schedule.rule.overlap != "allow",
    )


def preview(installation: Installation, knobs: Mapping[str, Any]) -> PreviewedTimes:
    """The next times a rule would be due; nothing is kept."""
    rule = parse_schedule(knobs)
    times = next_times(rule, installation.clock.now(), count=SHOWN)
    return PreviewedTimes(rule.timezone, [format_time(at) for at in times])


async def follow_task(
    installation: Installation, task_id: int, *, actor: str = SYSTEM
) -> ScheduleRecord | None:
    """Make the schedule of a task what its newest version says: created, changed, left as it is, or gone.

    Called after a task was created or changed; also by the keeper, should somebody have died in between.
    """
    kept = await installation.schedules.of_task(task_id)
    try:
        task = await installation.tasks.get(task_id)
    except NotFound:
        return None
    rule = None if task.is_deleted else _written(await installation.tasks.version(task.id, task.version))
    if rule is None:
        if kept is not None:
            await installation.schedules.delete(kept.id, actor=actor)
        return None
    next_at = next_time(rule, installation.clock.now())
    if kept is None:
        with suppress(Conflict):  # somebody else is at it, with the same task before them
            return await installation.schedules.add(
                task.id, rule, actor=actor, next_fire_at=next_at, is_of_task=True
            )
        return await installation.schedules.of_task(task.id)
    if kept.rule == rule:
        return kept
    return await installation.schedules.change(
        kept.id, rule, actor=actor, is_enabled=kept.is_enabled, next_fire_at=next_at
    )


class _OnlySchedule(msgspec.Struct):
    schedule: msgspec.Raw = msgspec.Raw(b"null")


_only_schedule = msgspec.json.Decoder(_OnlySchedule)


def _written(version: TaskVersion) -> ScheduleRule | None:
    """The rule that a version of a task has; a schedule that means nothing today is none."""
    raw = bytes(_only_schedule.decode(version.spec).schedule)
    if raw == b"null":
        return None
    try:
        return _rule_in(msgspec.json.decode(raw))
    except RequestInvalid:
        return None


def _rule_in(written: Any) -> ScheduleRule:
    return parse_schedule({"cron": written}) if isinstance(written, str) else parse_schedule(written)


async def _to_change(
    installation: Installation, principal: Principal, schedule_id: int
) -> tuple[ScheduleRecord, TaskRecord]:
    schedule = await installation.schedules.get(schedule_id)
    task = await installation.tasks.get(schedule.task_id)
    require(principal, "schedules", "write", owner=task.owner)
    return schedule, task


def _merged(rule: ScheduleRule, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """The knobs of a rule with others put over them; another kind of time takes the place of the old one."""
    kept: dict[str, Any] = {**msgspec.to_builtins(rule), "at": format_time(rule.at)}
    if any(knobs.get(name) is not None for name in WHEN):
        kept = {name: value for name, value in kept.items() if name not in WHEN}
    if knobs.get("misfire") is not None:
        kept = {name: value for name, value in kept.items() if name not in ("misfire_s", "coalesce")}
    return {**kept, **knobs}


def _first_time(installation: Installation, rule: ScheduleRule) -> float:
    next_at = next_time(rule, installation.clock.now() - (rule.misfire_s if rule.at is not None else 0.0))
    if next_at is None:
        raise RequestInvalid("the schedule is never due: its moment is over", hint="give `at` a later one")
    return next_at


def _going_on(installation: Installation, schedule: ScheduleRecord) -> float | None:
    """The next time from now of a schedule that is switched on or off."""
    return next_time(schedule.rule, installation.clock.now(), schedule.next_fire_at or schedule.created_at)


def _detail(installation: Installation, schedule: ScheduleRecord, task: TaskRecord) -> ScheduleDetail:
    times: list[float] = []
    if schedule.is_enabled and schedule.next_fire_at is not None:
        first = schedule.next_fire_at
        times = [
            first,
            *next_times(schedule.rule, max(first, installation.clock.now()), first, count=SHOWN - 1),
        ]
    return schedule_detail(schedule, task.name, times)


def _in_task(task: TaskRecord) -> NotAllowed:
    return NotAllowed(
        f"this schedule stands in the task {task.name!r}",
        hint="change or remove `schedule` there, or switch it off here",
    )
