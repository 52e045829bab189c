"""`host list|hold|resume|delay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from smartspider.cli.place import JSON, Place, first, placed

if TYPE_CHECKING:
    from smartspider.views.hosts import HostGateView


@click.group()
def host() -> None:
    """See the gates of hosts, and turn them by hand, for all runs."""


@host.command("list")
@click.option("--held", is_flag=True, help="Only those that are held now.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="How many at most.")
@placed
@JSON
def list_hosts(limit: int, place: Place, *, held: bool, as_json: bool) -> None:
    """Hosts by name: how far apart requests leave, and which are left alone for now."""
    from functools import partial

    from smartspider.cli.output import print_json, tell

    found = place.do(lambda office: first(partial(office.list_hosts, held=held), limit))
    if as_json:
        print_json(found)
        return
    for one in found:
        tell(_line(one))


@host.command()
@click.argument("name", metavar="HOST")
@click.option("--for", "duration", required=True, metavar="TIME", help="How long: 90s, 10m, 2h, 7d.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@placed
@JSON
def hold(name: str, duration: str, reason: str, place: Place, *, as_json: bool) -> None:
    """Send nothing to a host for a while. A hold that lasts longer already is not shortened."""
    from smartspider.cli.moments import duration_s

    seconds = duration_s(duration)
    _show(place.do(lambda office: office.hold_host(name, seconds=seconds, reason=reason)), as_json=as_json)


@host.command()
@click.argument("name", metavar="HOST")
@placed
@JSON
def resume(name: str, place: Place, *, as_json: bool) -> None:
    """Lift a hold at once, and forget what made the host slow."""
    _show(place.do(lambda office: office.resume_host(name)), as_json=as_json)


@host.command()
@click.argument("name", metavar="HOST")
@click.argument("seconds", type=click.FloatRange(0))
@placed
@JSON
def delay(name: str, seconds: float, place: Place, *, as_json: bool) -> None:
    """Keep at least this delay at a host, whatever runs and robots.txt ask; 0 takes that back."""
    _show(place.do(lambda office: office.slow_host(name, delay_s=seconds)), as_json=as_json)


def _show(one: HostGateView, *, as_json: bool) -> None:
    from smartspider.cli.output import print_json, tell

    if as_json:
        print_json(one)
    else:
        tell(_line(one))


def _line(one: HostGateView) -> str:
    delays = {
        "runs": one.delays_s.runs,
        "robots.txt": one.delays_s.robots,
        "its answers": one.delays_s.adaptive,
    }
    delays["an operator"] = one.delays_s.operator
    by = max(delays, key=lambda who: delays[who])
    parts = [f"{one.delay_s:g} s apart" + (f" by {by}" if one.delay_s else "")]
    parts += [f"held until {one.held_until}: {one.hold_reason}"] if one.held_until else []
    parts += ["on trial"] if one.on_trial else []
    return f"{one.host}: {', '.join(parts)}, {one.in_flight} in flight"
