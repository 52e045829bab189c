"""`schedule add|list|show|pause|resume|delete|history|next|fire`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from smartspider.cli.target import JSON, Target, collect, with_target

if TYPE_CHECKING:
    from smartspider.cli.target import Office
    from smartspider.views.schedules import PreviewedTimes, ScheduleDetail, ScheduleView

F = TypeVar("F", bound=Callable[..., Any])

ID = click.argument("schedule_id", metavar="ID")
_RULE = (
    click.option("--cron", default=None, help="5 fields, 6 with seconds, or a nickname like @daily."),
    click.option("--every", default=None, metavar="DURATION", help="So long from start to start: 15m, 2h."),
    click.option("--at", default=None, metavar="MOMENT", help="Once, then: 2026-01-31T06:00:00."),
    click.option("--timezone", default=None, metavar="NAME", help="Like Europe/Berlin.  [default: UTC]"),
)


def rule(command: F) -> F:
    """When a schedule is due."""
    for option in reversed(_RULE):
        command = option(command)
    return command


@click.group()
def schedule() -> None:
    """Start runs by themselves: by cron, every so often, or once."""


@schedule.command()
@click.argument("task")
@rule
@click.option(
    "--overlap",
    type=click.Choice(["skip", "queue", "allow", "cancel"]),
    default=None,
    help="What to do while the run before is not over.  [default: skip]",
)
@click.option(
    "--misfire",
    type=click.Choice(["skip", "once", "all"]),
    default=None,
    help="What to do about starts that were missed, however late it is.",
)
@click.option("--grace", default=None, metavar="DURATION", help="How late it may start.  [default: 5m]")
@click.option("--jitter", default=None, metavar="DURATION", help="Start up to this much later.")
@click.option("--retries", type=click.IntRange(0), default=None, help="Try a failed run again so often.")
@click.option("--retry-delay", default=None, metavar="DURATION", help="So long after it.  [default: 5m]")
@click.option("--paused", is_flag=True, help="Keep it, but start nothing yet.")
@with_target
@JSON
def add(task: str, place: Target, *, paused: bool, as_json: bool, **said: Any) -> None:
    """Run a task by itself."""
    from smartspider.cli.terminal.output import print_json, print_message

    words = _words(said)
    made = place.do(lambda office: office.create_schedule(task, enabled=not paused, **words), task=task)
    if as_json:
        print_json(made)
    print_message(f"schedule {made.id} of {made.task!r}: {_when(made)}, {_next(made)}")


@schedule.command("list")
@click.option("--task", default=None, metavar="NAME", help="Only those of this task.")
@with_target
@JSON
def list_schedules(task: str | None, place: Target, *, as_json: bool) -> None:
    """Schedules, oldest first."""
    from smartspider.cli.terminal.output import print_json, print_line

    found = place.do(lambda office: collect(partial(office.list_schedules, task_id=task)), task=task)
    if as_json:
        print_json(found)
        return
    for one in found:
        stands = "  in the task itself" if one.of_task else ""
        print_line(f"{one.id:>4}  {one.task}  {_when(one)}  {_next(one)}{stands}")


@schedule.command()
@ID
@with_target
@JSON
def show(schedule_id: str, place: Target, *, as_json: bool) -> None:
    """A schedule, and the next times it is due."""
    import msgspec

    from smartspider.cli.terminal.output import print_json, print_line

    one = place.do(lambda office: office.get_schedule(schedule_id))
    if as_json:
        print_json(one)
        return
    for name, value in msgspec.structs.asdict(one).items():
        if name != "next_times" and value is not None:
            print_line(f"{name:<14} {value}")
    for at in one.next_times:
        print_line(f"{'due':<14} {at}")


@schedule.command()
@ID
@with_target
@JSON
def pause(schedule_id: str, place: Target, *, as_json: bool) -> None:
    """Start nothing any more, until it is resumed."""
    _told(place.do(lambda office: office.change_schedule(schedule_id, enabled=False)), as_json=as_json)


@schedule.command()
@ID
@with_target
@JSON
def resume(schedule_id: str, place: Target, *, as_json: bool) -> None:
    """Go on with the next time from now."""
    _told(place.do(lambda office: office.change_schedule(schedule_id, enabled=True)), as_json=as_json)


@schedule.command()
@ID
@with_target
@JSON
def delete(schedule_id: str, place: Target, *, as_json: bool) -> None:
    """Forget a schedule and its history; the runs it started stay."""
    from smartspider.cli.terminal.output import print_json, print_message

    place.do(lambda office: office.delete_schedule(schedule_id))
    if as_json:
        print_json({"schedule_id": schedule_id, "deleted": True})
    print_message(f"schedule {schedule_id} is deleted; the runs it started stay")


@schedule.command()
@ID
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many at most.")
@with_target
@JSON
def history(schedule_id: str, limit: int, place: Target, *, as_json: bool) -> None:
    """Each time it was due, newest first: started, skipped, missed or failed, and why."""
    from smartspider.cli.tasks.rendering import format_time
    from smartspider.cli.terminal.output import print_json, print_line

    found = place.do(lambda office: collect(partial(office.list_firings, schedule_id), limit))
    if as_json:
        print_json(found)
        return
    for one in found:
        run = "" if one.run_id is None else f"  run {one.run_id}"
        print_line(f"{when(one.fire_at)}  {one.outcome:<8}{run}  {one.reason}".rstrip())


@schedule.command("next")
@click.argument("schedule_id", metavar="[ID]", required=False)
@rule
@with_target
@JSON
def next_times(schedule_id: str | None, place: Target, *, as_json: bool, **said: Any) -> None:
    """The next times a schedule is due, or one would be: with --cron, --every or --at nothing is kept."""
    from smartspider.cli.terminal.output import print_json, print_line

    words = _words(said)
    if (schedule_id is None) == (not words):
        raise click.UsageError("Give the ID of a schedule, or a rule with --cron, --every or --at.")

    async def look(office: Office) -> ScheduleDetail | PreviewedTimes:
        if schedule_id is not None:
            return await office.get_schedule(schedule_id)
        return await office.preview_schedule(**words)

    found = place.do(look)
    if as_json:
        print_json(found.next_times)
        return
    for at in found.next_times:
        print_line(at + _local(at, found.timezone))


@schedule.command()
@ID
@with_target
@JSON
def fire(schedule_id: str, place: Target, *, as_json: bool) -> None:
    """Start a run of a schedule now, beside its times."""
    from smartspider.cli.terminal.output import print_json, print_message

    fired = place.do(lambda office: office.fire_schedule(schedule_id))
    if as_json:
        print_json(fired)
    print_message(f"run {fired.run_id} is started")


def _local(at: str, timezone: str) -> str:
    """The same moment as the clocks there show it; nothing where that is told already."""
    from zoneinfo import ZoneInfo

    from smartspider.core.datetimes import parse_iso_datetime

    if timezone == "UTC":
        return ""
    return f"  {parse_iso_datetime(at).astimezone(ZoneInfo(timezone)).strftime('%a %Y-%m-%d %H:%M:%S')} {timezone}"


def _words(said: dict[str, Any]) -> Any:
    """What is said, in the words of the API."""
    from smartspider.cli.times import parse_duration_s

    names = {"every": "every_s", "grace": "misfire_s", "jitter": "jitter_s", "retry_delay": "retry_delay_s"}
    return {
        names.get(name, name): parse_duration_s(value) if name in names else value
        for name, value in said.items()
        if value is not None
    }


def _when(one: ScheduleView) -> str:
    if one.cron is not None:
        return f"{one.cron} ({one.timezone})"
    return f"every {one.every_s:g} s" if one.every_s is not None else f"once, {one.at}"


def _next(one: ScheduleView) -> str:
    if not one.enabled:
        return "paused"
    return "never again" if one.next_fire_at is None else f"next {one.next_fire_at}"


def _told(one: ScheduleDetail, *, as_json: bool) -> None:
    from smartspider.cli.terminal.output import print_json, print_message

    if as_json:
        print_json(one)
    print_message(f"schedule {one.id} of {one.task!r}: {_when(one)}, {_next(one)}")
