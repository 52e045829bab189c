"""`host list|hold|resume|delay`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from smartspider.cli.lazy_group import CommandGroup
from smartspider.cli.target import Target, collect, limit_option, with_target
from smartspider.cli.terminal.output import print_line, printed

if TYPE_CHECKING:
    from smartspider.views.hosts import HostGateView, HostScope, OwnerGateView

HOST = click.argument("name", metavar="HOST")
OWN = click.option(
    "--own/--all",
    "own",
    default=None,
    help="For the runs of your own tasks, or for all runs (admins). Default: --all for an admin, else --own.",
)


def _scope(own: bool | None) -> HostScope | None:
    return None if own is None else "own" if own else "all"


def _line(one: HostGateView) -> str:
    delays = {
        "runs": one.delays_s.runs,
        "robots.txt": one.delays_s.robots,
        "adaptive": one.delays_s.adaptive,
        "operator": one.delays_s.operator,
    }
    origin = max(delays, key=lambda name: delays[name])
    parts = [f"{one.delay_s:g} s apart" + (f" by {origin}" if one.delay_s else "")]
    parts += [f"held until {one.held_until}: {one.hold_reason}"] if one.held_until else []
    parts += ["probing"] if one.on_trial else []
    parts += [f"{one.in_flight} in flight"]
    parts += [_own_part(own) for own in one.owners]
    return f"{one.host}: {', '.join(parts)}"


def _own_part(own: OwnerGateView) -> str:
    held = f"held until {own.held_until}: {own.hold_reason}" if own.held_until else ""
    slow = f"{own.delay_s:g} s apart" if own.delay_s else ""
    return f"for the runs of {own.owner} {' and '.join(part for part in (slow, held) if part)}"


def _print_host(one: HostGateView) -> None:
    print_line(_line(one))


def _print_hosts(found: list[HostGateView]) -> None:
    for one in found:
        _print_host(one)


@click.group(cls=CommandGroup)
def host() -> None:
    """Show and change the rate limits (gates) of hosts, for your own runs or for all."""


@host.command("list")
@click.option("--held", is_flag=True, help="Only hosts on hold.")
@limit_option(100, "hosts")
@with_target
@printed(_print_hosts)
def list_hosts(limit: int, target: Target, *, held: bool) -> list[HostGateView]:
    """List hosts by name with their delay between requests and their holds."""
    return target.run(lambda operations: collect(partial(operations.list_hosts, held=held), limit))


@host.command()
@HOST
@click.option(
    "--for", "duration", required=True, metavar="TIME", help="Duration of the hold: 90s, 10m, 2h, 7d."
)
@click.option("--reason", default="", metavar="TEXT", help="Reason for the hold.")
@OWN
@with_target
@printed(_print_host)
def hold(name: str, duration: str, reason: str, target: Target, *, own: bool | None) -> HostGateView:
    """Pause requests to a host for a given duration. An existing longer hold stays in effect."""
    from smartspider.cli.times import parse_duration_s

    seconds = parse_duration_s(duration)
    return target.run(
        lambda operations: operations.hold_host(name, seconds=seconds, reason=reason, scope=_scope(own))
    )


@host.command()
@HOST
@OWN
@with_target
@printed(_print_host)
def resume(name: str, target: Target, *, own: bool | None) -> HostGateView:
    """Lift a hold immediately. For all runs, also reset the host's adaptive delay."""
    return target.run(lambda operations: operations.resume_host(name, scope=_scope(own)))


@host.command()
@HOST
@click.argument("seconds", type=click.FloatRange(0))
@OWN
@with_target
@printed(_print_host)
def delay(name: str, seconds: float, target: Target, *, own: bool | None) -> HostGateView:
    """Set the minimum delay of a host. It overrides shorter delays of runs and robots.txt; 0 removes it."""
    return target.run(lambda operations: operations.slow_host(name, delay_s=seconds, scope=_scope(own)))
