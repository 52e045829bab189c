"""`run pause|resume|stop|cancel|retry|tune|stall`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.place import JSON, Place, placed

if TYPE_CHECKING:
    from smartspider.views.runs import Started

RUN = click.argument("run_id", metavar="RUN")


@click.command()
@RUN
@placed
@JSON
def pause(run_id: str, place: Place, *, as_json: bool) -> None:
    """Hand out nothing more of a run for now; what is in flight is still stored."""
    _show(place.do(lambda office: office.pause_run(run_id)), as_json=as_json)


@click.command()
@RUN
@placed
@JSON
def resume(run_id: str, place: Place, *, as_json: bool) -> None:
    """Go on with a run that was paused or stopped."""
    _show(place.do(lambda office: office.resume_run(run_id)), as_json=as_json)


@click.command()
@RUN
@placed
@JSON
def stop(run_id: str, place: Place, *, as_json: bool) -> None:
    """End a run after what is in flight; it can be resumed."""
    _show(place.do(lambda office: office.stop_run(run_id)), as_json=as_json)


@click.command()
@RUN
@placed
@JSON
def cancel(run_id: str, place: Place, *, as_json: bool) -> None:
    """End a run for good."""
    _show(place.do(lambda office: office.cancel_run(run_id)), as_json=as_json)


@click.command()
@RUN
@click.option("--all", "takes_all", is_flag=True, help="Everything, in a new run of the same version.")
@placed
@JSON
def retry(run_id: str, place: Place, *, takes_all: bool, as_json: bool) -> None:
    """Fetch what failed once more in the same run, or everything in a new one."""
    from smartspider.cli.output import count, print_json, say

    retried = place.do(
        lambda office: office.retry_run(run_id, which="all") if takes_all else office.retry_run(run_id)
    )
    if as_json:
        print_json(retried)
    say(f"run {retried.run_id} is {retried.state}: {count(retried.requests, 'request')} once more")


@click.command()
@RUN
@click.argument("knobs", nargs=-1, required=True, metavar="KNOB=VALUE...")
@placed
@JSON
def tune(run_id: str, knobs: tuple[str, ...], place: Place, *, as_json: bool) -> None:
    """Turn knobs of a run while it works: concurrency, delay_s, rate_per_s, per_host, priority, limits.*."""
    from smartspider.cli.knobs import parse_knobs
    from smartspider.cli.output import print_json, say, tell

    turned = parse_knobs(knobs)
    tuned = place.do(lambda office: office.tune_run(run_id, **turned))
    if as_json:
        print_json(tuned)
        return
    for name, change in tuned.changed.items():
        tell(f"{name}: {_value(change.before)} → {_value(change.after)}")
    if not tuned.changed:
        say(f"run {run_id} is like that already")


@click.command()
@RUN
@placed
@JSON
def stall(run_id: str, place: Place, *, as_json: bool) -> None:
    """Say why a run does not move, and what to do; or that it moves."""
    from smartspider.cli.output import print_json, tell

    found = place.do(lambda office: office.explain_stall(run_id))
    if as_json:
        print_json(found)
        return
    tell(found.summary)
    if len(found.causes) == 1 and not found.moving:  # the summary has said it
        tell(f"  try: {found.causes[0].advice}")
        return
    for cause in found.causes:
        tell(f"  {cause.what}")
        tell(f"    try: {cause.advice}")


def _show(run: Started, *, as_json: bool) -> None:
    from smartspider.cli.output import print_json, say

    if as_json:
        print_json(run)
    say(f"run {run.run_id} is {run.state}{f' ({run.reason})' if run.reason else ''}")


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
