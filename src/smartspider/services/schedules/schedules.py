"""Schedules: create, change, delete, show, fire; and the schedules that tasks define."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.datetimes import format_time
from smartspider.core.errors import Conflict, NotAllowed, NotFound, Problem, RequestInvalid
from smartspider.core.schedules import Firing, ScheduleRecord, ScheduleRule
from smartspider.core.tasks import SYSTEM, TaskRecord, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.inputs import parse_cursor, parse_time_cursor, to_page
from smartspider.services.quotas import check_quota
from smartspider.services.runs.start import newest_plan
from smartspider.taskfile.load import parse_schedule, schedule_invalid
from smartspider.taskfile.model.schedule import WHEN
from smartspider.taskfile.timing import next_time, next_times, shortest_interval
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

TIMES_SHOWN = 5


async def list_schedules(
    installation: Installation, task: TaskRecord | None, *, cursor: str | None, limit: int
) -> Listed[ScheduleView]:
    """List schedules of a task or of all tasks, oldest first."""
    of = None if task is None else task.id
    found = await installation.schedules.find(task_id=of, after=parse_cursor(cursor) or 0, limit=limit + 1)
    names = {one: (await installation.tasks.get(one)).name for one in {each.task_id for each in found}}
    return to_page(
        found, limit, lambda one: one.id, lambda one: schedule_view(one, names.get(one.task_id, ""))
    )


async def list_firings(
    installation: Installation, schedule_id: int, *, cursor: str | None, limit: int
) -> Listed[FiringView]:
    """List the firings of a schedule with their outcome, newest first."""
    found = await installation.schedules.firings(
        schedule_id, before=parse_time_cursor(cursor), limit=limit + 1
    )
    return to_page(found, limit, lambda one: repr(one.fire_at), firing_view)


async def create(
    installation: Installation,
    principal: Principal,
    task: TaskRecord,
    knobs: Mapping[str, Any],
    *,
    is_enabled: bool,
) -> ScheduleDetail:
    """Create a schedule of a task; `knobs` are the keys of `schedule` in a task file."""
    require(principal, "schedules", "write", owner=task.owner)
    if task.is_deleted:
        raise NotFound(f"the task {task.name!r} is deleted", hint="create it again")
    rule = _parse(installation, knobs)
    next_at = _first_time(installation, rule)
    await check_quota(installation, principal, "schedules")
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
    """Change the given keys of the rule, or enable or disable a schedule.

    An enabled schedule continues with the next time from now.
    """
    schedule, task = await _find_own(installation, principal, schedule_id)
    if knobs and schedule.is_of_task:
        raise _defined_by_task(task)
    rule = _parse(installation, _merged(schedule.rule, knobs)) if knobs else schedule.rule
    enabled = schedule.is_enabled if is_enabled is None else is_enabled
    if (rule, enabled) == (schedule.rule, schedule.is_enabled):
        return _detail(installation, schedule, task)
    next_at = (
        _first_time(installation, rule)
        if rule != schedule.rule
        else _next_after_toggle(installation, schedule)
    )
    changed = await installation.schedules.change(
        schedule.id, rule, actor=principal.name, is_enabled=enabled, next_fire_at=next_at
    )
    return _detail(installation, changed, task)


async def delete(installation: Installation, principal: Principal, schedule_id: int) -> None:
    """Delete a schedule; its runs stay."""
    schedule, task = await _find_own(installation, principal, schedule_id)
    if schedule.is_of_task:
        raise _defined_by_task(task)
    await installation.schedules.delete(schedule.id, actor=principal.name)


async def show(installation: Installation, schedule_id: int) -> ScheduleDetail:
    """Return a schedule with its next times."""
    schedule = await installation.schedules.get(schedule_id)
    return _detail(installation, schedule, await installation.tasks.get(schedule.task_id))


async def fire(installation: Installation, principal: Principal, schedule_id: int) -> Firing:
    """Start a run now, in addition to the scheduled times; raise `Conflict` if the overlap
    rule forbids it.
    """
    schedule, task = await _find_own(installation, principal, schedule_id)
    require(principal, "runs", "write", owner=task.owner)
    return await installation.schedules.fire_now(
        schedule.id,
        await newest_plan(installation, task),
        version=task.version,
        actor=principal.name,
        is_only=schedule.rule.overlap != "allow",
    )


def preview(installation: Installation, knobs: Mapping[str, Any]) -> PreviewedTimes:
    """Return the next times of a rule; nothing is stored."""
    rule = _parse(installation, knobs)
    times = next_times(rule, installation.clock.now(), count=TIMES_SHOWN)
    return PreviewedTimes(rule.timezone, [format_time(at) for at in times])


async def sync_task_schedule(
    installation: Installation, task_id: int, *, actor: str = SYSTEM
) -> ScheduleRecord | None:
    """Create, change or delete the schedule of a task to match its newest version.

    Called after a task was created or changed, and by the keeper in case a process died in between.
    """
    stored = await installation.schedules.of_task(task_id)
    try:
        task = await installation.tasks.get(task_id)
    except NotFound:
        return None
    rule = None if task.is_deleted else _task_rule(await installation.tasks.version(task.id, task.version))
    if rule is None:
        if stored is not None:
            await installation.schedules.delete(stored.id, actor=actor)
        return None
    next_at = next_time(rule, installation.clock.now())
    if stored is None:
        with suppress(Conflict):  # another process adds it, from the same task
            return await installation.schedules.add(
                task.id, rule, actor=actor, next_fire_at=next_at, is_of_task=True
            )
        return await installation.schedules.of_task(task.id)
    if stored.rule == rule:
        return stored
    return await installation.schedules.change(
        stored.id, rule, actor=actor, is_enabled=stored.is_enabled, next_fire_at=next_at
    )


class _OnlySchedule(msgspec.Struct):
    schedule: msgspec.Raw = msgspec.Raw(b"null")


_only_schedule = msgspec.json.Decoder(_OnlySchedule)


def find_task_problem(installation: Installation, spec: bytes) -> Problem | None:
    """Return why a server does not accept the valid schedule of a task; None if it does."""
    value = _schedule_in(spec)
    problem = None if value is None else _find_problem(installation, _rule_in(value))
    if problem is None:
        return None
    path = "schedule" if isinstance(value, str) else f"schedule.{problem.path}"
    return Problem(path, problem.message, problem.hint)


def _task_rule(version: TaskVersion) -> ScheduleRule | None:
    """Return the schedule that a version of a task defines; None if it is invalid in this version."""
    value = _schedule_in(version.spec)
    try:
        return None if value is None else _rule_in(value)
    except RequestInvalid:
        return None


def _schedule_in(spec: bytes) -> Any:
    return msgspec.json.decode(_only_schedule.decode(spec).schedule)


def _rule_in(value: Any) -> ScheduleRule:
    return parse_schedule({"cron": value}) if isinstance(value, str) else parse_schedule(value)


def _parse(installation: Installation, knobs: Mapping[str, Any]) -> ScheduleRule:
    rule = parse_schedule(knobs)
    problem = _find_problem(installation, rule)
    if problem is not None:
        raise schedule_invalid([problem])
    return rule


def _find_problem(installation: Installation, rule: ScheduleRule) -> Problem | None:
    """Return why a rule starts too often; None if it does not."""
    interval_s, minimum_s = shortest_interval(rule), installation.settings.schedule_interval
    if interval_s >= minimum_s:
        return None
    return Problem(
        "cron" if rule.every_s is None else "every_s",
        f"starts {interval_s:g} s after the previous start, and the minimum here is {minimum_s:g} s",
        f"start every {minimum_s:g} s or less often; SMARTSPIDER_SCHEDULE_INTERVAL sets the minimum",
    )


async def _find_own(
    installation: Installation, principal: Principal, schedule_id: int
) -> tuple[ScheduleRecord, TaskRecord]:
    schedule = await installation.schedules.get(schedule_id)
    task = await installation.tasks.get(schedule.task_id)
    require(principal, "schedules", "write", owner=task.owner)
    return schedule, task


def _merged(rule: ScheduleRule, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Merge keys into those of a rule; another kind of time replaces the old one."""
    stored: dict[str, Any] = {**msgspec.to_builtins(rule), "at": format_time(rule.at)}
    if any(knobs.get(name) is not None for name in WHEN):
        stored = {name: value for name, value in stored.items() if name not in WHEN}
    if knobs.get("misfire") is not None:
        stored = {name: value for name, value in stored.items() if name not in ("misfire_s", "coalesce")}
    return {**stored, **knobs}


def _first_time(installation: Installation, rule: ScheduleRule) -> float:
    next_at = next_time(rule, installation.clock.now() - (rule.misfire_s if rule.at is not None else 0.0))
    if next_at is None:
        raise RequestInvalid("the schedule is never due: its time has passed", hint="give `at` a later time")
    return next_at


def _next_after_toggle(installation: Installation, schedule: ScheduleRecord) -> float | None:
    """Return the next time from now of a schedule that is enabled or disabled."""
    return next_time(schedule.rule, installation.clock.now(), schedule.next_fire_at or schedule.created_at)


def _detail(installation: Installation, schedule: ScheduleRecord, task: TaskRecord) -> ScheduleDetail:
    times: list[float] = []
    if schedule.is_enabled and schedule.next_fire_at is not None:
        first = schedule.next_fire_at
        times = [
            first,
            *next_times(schedule.rule, max(first, installation.clock.now()), first, count=TIMES_SHOWN - 1),
        ]
    return schedule_detail(schedule, task.name, times)


def _defined_by_task(task: TaskRecord) -> NotAllowed:
    return NotAllowed(
        f"this schedule is defined in the task {task.name!r}",
        hint="change or remove `schedule` there, or disable it here",
    )
