"""`schedule add|list|show|pause|resume|delete|history|next|fire`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.operations.table import AllOperations
    from smartspider.views.schedules import (
        Fired,
        FiringView,
        PreviewedTimes,
        ScheduleDetail,
        ScheduleView,
    )

F = TypeVar("F", bound=Callable[..., Any])

ID = click.argument("schedule_id", metavar="ID")
_RULE = (
    click.option("--cron", default=None, help="5 fields, 6 with seconds, or a nickname like @daily."),
    click.option("--every", default=None, metavar="DURATION", help="Interval between starts: 15m, 2h."),
    click.option("--at", default=None, metavar="TIME", help="Run once at this time: 2026-01-31T06:00:00."),
    click.option(
        "--timezone", default=None, metavar="NAME", help="Time zone, such as Europe/Berlin.  [default: UTC]"
    ),
)


def _rule_options(command: F) -> F:
    """Add the options of a schedule's rule."""
    for option in reversed(_RULE):
        command = option(command)
    return command


def _rule_text(one: ScheduleView) -> str:
    if one.cron is not None:
        return f"{one.cron} ({one.timezone})"
    return f"every {one.every_s:g} s" if one.every_s is not None else f"once, {one.at}"


def _next_text(one: ScheduleView) -> str:
    if not one.enabled:
        return "paused"
    return "no further starts" if one.next_fire_at is None else f"next {one.next_fire_at}"


def _schedule_message(one: ScheduleView) -> str:
    return f"schedule {one.id} of {one.task!r}: {_rule_text(one)}, {_next_text(one)}"


def _print_schedules(found: list[ScheduleView]) -> None:
    for one in found:
        source = "  defined in the task" if one.of_task else ""
        print_line(f"{one.id:>4}  {one.task}  {_rule_text(one)}  {_next_text(one)}{source}")


def _print_schedule(one: ScheduleDetail) -> None:
    import msgspec

    for name, value in msgspec.structs.asdict(one).items():
        if name != "next_times" and value is not None:
            print_line(f"{name:<14} {value}")
    for at in one.next_times:
        print_line(f"{'due':<14} {at}")


def _print_firings(found: list[FiringView]) -> None:
    from smartspider.cli.times import format_time

    for one in found:
        run = "" if one.run_id is None else f"  run {one.run_id}"
        print_line(f"{format_time(one.fire_at)}  {one.outcome:<8}{run}  {one.reason}".rstrip())


def _print_times(found: ScheduleDetail | PreviewedTimes) -> None:
    for at in found.next_times:
        print_line(at + _local_time(at, found.timezone))


def _local_time(at: str, timezone: str) -> str:
    """Return a time in its time zone; "" for UTC."""
    from zoneinfo import ZoneInfo

    from smartspider.core.datetimes import parse_iso_datetime

    if timezone == "UTC":
        return ""
    local = parse_iso_datetime(at).astimezone(ZoneInfo(timezone))
    return f"  {local.strftime('%a %Y-%m-%d %H:%M:%S')} {timezone}"


def _arguments(options: dict[str, Any]) -> Any:
    """Return the options that were given, with the names and units of the API."""
    from smartspider.cli.times import parse_duration_s

    names = {"every": "every_s", "grace": "misfire_s", "jitter": "jitter_s", "retry_delay": "retry_delay_s"}
    return {
        names.get(name, name): parse_duration_s(value) if name in names else value
        for name, value in options.items()
        if value is not None
    }


@click.group(cls=CommandGroup)
def schedule() -> None:
    """Schedule runs: cron, interval or once."""


@schedule.command()
@click.argument("task")
@_rule_options
@click.option(
    "--overlap",
    type=click.Choice(["skip", "queue", "allow", "cancel"]),
    default=None,
    help="Overlap policy if the previous run is unfinished.  [default: skip]",
)
@click.option(
    "--misfire",
    type=click.Choice(["skip", "once", "all"]),
    default=None,
    help="Misfire policy for missed starts, regardless of how late.",
)
@click.option("--grace", default=None, metavar="DURATION", help="Misfire grace time.  [default: 5m]")
@click.option("--jitter", default=None, metavar="DURATION", help="Random delay up to this duration (jitter).")
@click.option("--retries", type=click.IntRange(0), default=None, help="Number of retries of a failed run.")
@click.option("--retry-delay", default=None, metavar="DURATION", help="Delay before a retry.  [default: 5m]")
@click.option("--paused", is_flag=True, help="Create the schedule disabled.")
@with_target
@printed(message=_schedule_message)
def add(task: str, target: Target, *, paused: bool, **options: Any) -> ScheduleView:
    """Add a schedule for a task."""
    arguments = _arguments(options)
    return target.run(
        lambda operations: operations.create_schedule(task, enabled=not paused, **arguments), task=task
    )


@schedule.command("list")
@click.option("--task", default=None, metavar="NAME", help="Only schedules of this task.")
@with_target
@printed(_print_schedules)
def list_schedules(task: str | None, target: Target) -> list[ScheduleView]:
    """List schedules, oldest first."""
    return target.run(lambda operations: collect(partial(operations.list_schedules, task_id=task)), task=task)


@schedule.command()
@ID
@with_target
@printed(_print_schedule)
def show(schedule_id: str, target: Target) -> ScheduleDetail:
    """Show a schedule and its next start times."""
    return target.run(lambda operations: operations.get_schedule(schedule_id))


@schedule.command()
@ID
@with_target
@printed(message=_schedule_message)
def pause(schedule_id: str, target: Target) -> ScheduleView:
    """Pause a schedule."""
    return target.run(lambda operations: operations.change_schedule(schedule_id, enabled=False))


@schedule.command()
@ID
@with_target
@printed(message=_schedule_message)
def resume(schedule_id: str, target: Target) -> ScheduleView:
    """Resume a schedule from its next start time."""
    return target.run(lambda operations: operations.change_schedule(schedule_id, enabled=True))


@schedule.command()
@ID
@with_target
@printed(message="schedule {0[schedule_id]} is deleted; its runs are kept")
def delete(schedule_id: str, target: Target) -> dict[str, Any]:
    """Delete a schedule and its history. Its runs are kept."""
    target.run(lambda operations: operations.delete_schedule(schedule_id))
    return {"schedule_id": schedule_id, "deleted": True}


@schedule.command()
@ID
@limit_option(20, "firings")
@with_target
@printed(_print_firings)
def history(schedule_id: str, limit: int, target: Target) -> list[FiringView]:
    """List the firings of a schedule, newest first: started, skipped, missed or failed, with the reason."""
    return target.run(lambda operations: collect(partial(operations.list_firings, schedule_id), limit))


@schedule.command("next")
@click.argument("schedule_id", metavar="[ID]", required=False)
@_rule_options
@with_target
@printed(_print_times, to_json=lambda found: found.next_times)
def next_times(schedule_id: str | None, target: Target, **options: Any) -> ScheduleDetail | PreviewedTimes:
    """Show the next start times of a schedule, or of a rule given with --cron, --every or --at."""
    arguments = _arguments(options)
    if (schedule_id is None) == (not arguments):
        raise click.UsageError("Specify the ID of a schedule, or a rule with --cron, --every or --at.")

    async def find(operations: AllOperations) -> ScheduleDetail | PreviewedTimes:
        if schedule_id is not None:
            return await operations.get_schedule(schedule_id)
        return await operations.preview_schedule(**arguments)

    return target.run(find)


@schedule.command()
@ID
@with_target
@printed(message="started run {0.run_id}")
def fire(schedule_id: str, target: Target) -> Fired:
    """Start a run of a schedule now; its next start time does not change."""
    return target.run(lambda operations: operations.fire_schedule(schedule_id))
