"""`run pause|resume|stop|cancel|retry|tune|stall`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from smartspider.cli.runs.lookup import RUN, RUN_OR_NEWEST, find_run_id
from smartspider.cli.target import Target, with_target
from smartspider.cli.terminal.output import print_line, print_message, printed
from smartspider.core.frontier.cause import CAUSES
from smartspider.core.plurals import count

if TYPE_CHECKING:
    from smartspider.core.runs.tuning import Tuning
    from smartspider.operations.table import AllOperations
    from smartspider.views.runs import Retried, StallView, Started, TunedView

LIMITS = "limits."


def state_message(run: Started) -> str:
    """Return the state of a run and its reason."""
    return f"run {run.run_id} is {run.state}{f' ({run.reason})' if run.reason else ''}"


def _retry_message(run: Retried) -> str:
    return f"run {run.run_id} is {run.state}: retrying {count(run.requests, 'request')}"


def _print_tuned(tuned: TunedView) -> None:
    for name, change in tuned.changed.items():
        print_line(f"{name}: {_value_text(change.before)} → {_value_text(change.after)}")
    if not tuned.changed:
        print_message(f"run {tuned.run_id} already has these settings")


def _value_text(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _print_stall(found: StallView) -> None:
    print_line(found.summary)
    if len(found.causes) == 1 and not found.moving:  # the summary names the cause
        print_line(f"  try: {found.causes[0].advice}")
        return
    for cause in found.causes:
        print_line(f"  {cause.what}")
        print_line(f"    try: {cause.advice}")


@click.command()
@RUN
@with_target
@printed(message=state_message)
def pause(run_id: str, target: Target) -> Started:
    """Pause a run. Requests in flight are finished and stored."""
    return target.run_at(run_id, lambda operations: operations.pause_run(run_id))


@click.command()
@RUN
@with_target
@printed(message=state_message)
def resume(run_id: str, target: Target) -> Started:
    """Resume a paused or stopped run."""

    async def continue_run(operations: AllOperations) -> Started:
        from smartspider.cli.runs.watching import warn_blocked

        resumed = await operations.resume_run(run_id)
        await warn_blocked(operations, run_id)
        return resumed

    return target.run_at(run_id, continue_run)


@click.command()
@RUN
@with_target
@printed(message=state_message)
def stop(run_id: str, target: Target) -> Started:
    """Stop a run after its requests in flight; it can be resumed."""
    return target.run_at(run_id, lambda operations: operations.stop_run(run_id))


@click.command()
@RUN
@with_target
@printed(message=state_message)
def cancel(run_id: str, target: Target) -> Started:
    """Cancel a run permanently."""
    return target.run_at(run_id, lambda operations: operations.cancel_run(run_id))


@click.command()
@RUN
@click.option(
    "--all", "retries_all", is_flag=True, help="Retry everything, in a new run of the same task version."
)
@click.option("--cause", type=click.Choice(CAUSES), default=None, help="Only what failed for this cause.")
@click.option("--host", default=None, help="Only requests to this host.")
@click.option(
    "--page", "page_ids", multiple=True, metavar="ID", help="Only the request with this id; repeatable."
)
@with_target
@printed(message=_retry_message)
def retry(run_id: str, target: Target, *, retries_all: bool, **chosen: Any) -> Retried:
    """Retry the failed requests in the same run, all or those chosen, or everything in a new run."""
    only = {name: value for name, value in chosen.items() if value}
    which: Literal["all", "failed"] = "all" if retries_all else "failed"
    return target.run_at(run_id, lambda operations: operations.retry_run(run_id, which=which, **only))


@click.command()
@RUN
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@with_target
@printed(_print_tuned)
def tune(run_id: str, settings: tuple[str, ...], target: Target) -> TunedView:
    """Change settings of a run while it is running.

    The keys are concurrency, delay_s, rate_per_s, per_host, priority and limits.*.
    """
    tuning = parse_tuning(settings)
    return target.run_at(run_id, lambda operations: operations.tune_run(run_id, **tuning))


@click.command()
@RUN_OR_NEWEST
@with_target
@printed(_print_stall)
def stall(run_id: str | None, target: Target) -> StallView:
    """Explain why a run makes no progress and suggest a fix, or report that it is making progress."""

    async def explain(operations: AllOperations) -> StallView:
        return await operations.explain_stall(await find_run_id(operations, run_id))

    return target.run_at(run_id, explain)


def parse_tuning(texts: Sequence[str]) -> Tuning:
    """Parse settings of a run such as `delay_s=1 limits.max_pages=100`.

    `none` and `null` remove a rate or a limit. Raises `RequestInvalid`.
    """
    from difflib import get_close_matches

    from smartspider.core.errors import RequestInvalid
    from smartspider.core.runs.tuning import LimitTuning, Tuning

    limit_names = LimitTuning.__annotations__
    names = [name for name in Tuning.__annotations__ if name != "limits"]
    names += [f"{LIMITS}{name}" for name in limit_names]
    tuning: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for text in texts:
        name, has_value, value = text.partition("=")
        if not has_value:
            raise RequestInvalid(f"{text[:60]!r} is not KEY=VALUE", hint="write it as delay_s=1")
        if name in limit_names:
            name = LIMITS + name
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"valid settings: {', '.join(names)}"
            raise RequestInvalid(f"unknown setting {name[:60]!r} of a run", hint=hint)
        (limits if name.startswith(LIMITS) else tuning)[name.removeprefix(LIMITS)] = _number(name, value)
    return cast("Tuning", tuning | ({"limits": limits} if limits else {}))


def _number(name: str, text: str) -> Any:
    import msgspec

    from smartspider.core.errors import RequestInvalid

    if text.lower() in ("none", "null"):
        return None
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestInvalid(f"{name}: {text[:60]!r} is not a number", hint=f"write it as {name}=4")
    return value
