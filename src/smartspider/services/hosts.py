"""Hosts and their gates: list, hold, resume and slow down, for all runs or for those of a user."""

from __future__ import annotations

import re
from collections.abc import Sequence

from smartspider.core.access import Principal, require
from smartspider.core.datetimes import format_time
from smartspider.core.errors import Forbidden, RequestInvalid
from smartspider.core.requests.urls import host_of, normal_url
from smartspider.installation.installation import Installation
from smartspider.services.inputs import check_text, to_page
from smartspider.store.hosts.store import HostRecord
from smartspider.views.hosts import HostDelays, HostGateView, HostScope, OwnerGateView
from smartspider.views.listed import Listed

MAX_HOLD_S = 366 * 86_400.0
MAX_DELAY_S = 86_400.0
MAX_NAME_LENGTH = 253
LABEL = re.compile(r"[a-z0-9_-]{1,63}")
DEFAULT_REASON = "held by an operator"


async def list_hosts(
    installation: Installation,
    principal: Principal,
    *,
    held: bool = False,
    cursor: str | None = None,
    limit: int = 100,
) -> Listed[HostGateView]:
    """List hosts by name, or only those on hold."""
    require(principal, "hosts", "read")
    found = await installation.hosts.find(is_held=held, after=cursor or "", limit=limit + 1)
    now = installation.hosts.now()
    own = await _own_gates(installation, found)
    return to_page(found, limit, lambda one: one.host, lambda one: _view(one, own.get(one.host, []), now))


async def hold_host(
    installation: Installation,
    principal: Principal,
    host: str,
    seconds: float,
    *,
    reason: str = "",
    scope: HostScope | None = None,
) -> HostGateView:
    """Send nothing to a host for some time; a longer hold is not shortened."""
    owner = _owner(principal, scope)
    name = _name(host)
    check_text("reason", reason)
    if not 0.0 < seconds <= MAX_HOLD_S:
        raise RequestInvalid(
            "a hold lasts more than 0 seconds and at most a year", hint="for example 10m, 2h or 7d"
        )
    await installation.frontier.hold_host(
        name, seconds, reason or DEFAULT_REASON, actor=principal.name, owner=owner
    )
    return await _gate(installation, name)


async def resume_host(
    installation: Installation, principal: Principal, host: str, scope: HostScope | None = None
) -> HostGateView:
    """End a hold and reset the adaptive delay; for own runs, end the own hold only."""
    owner = _owner(principal, scope)
    name = (await installation.hosts.get(_name(host))).host
    await installation.frontier.resume_host(name, actor=principal.name, owner=owner)
    return await _gate(installation, name)


async def slow_host(
    installation: Installation,
    principal: Principal,
    host: str,
    delay_s: float,
    scope: HostScope | None = None,
) -> HostGateView:
    """Set a minimum delay for a host, whatever runs and robots.txt ask for; 0 removes it."""
    owner = _owner(principal, scope)
    name = _name(host)
    if not 0.0 <= delay_s <= MAX_DELAY_S:
        raise RequestInvalid("a delay is between 0 and 86400 seconds", hint="0 removes an operator's delay")
    await installation.frontier.slow_host(name, delay_s, actor=principal.name, owner=owner)
    return await _gate(installation, name)


def _owner(principal: Principal, scope: HostScope | None) -> str | None:
    """Return the user whose runs a change applies to; None for all runs, which only an admin may change."""
    require(principal, "hosts", "write")
    if scope is None:
        scope = "all" if principal.role == "admin" else "own"
    if scope == "own":
        return principal.name
    if principal.role != "admin":
        raise Forbidden(
            f"{principal.name} ({principal.role}) may hold and slow down hosts for own runs only",
            hint="use the scope `own`, or ask an admin",
        )
    return None


async def _gate(installation: Installation, host: str) -> HostGateView:
    found = await installation.hosts.get(host)
    own = await _own_gates(installation, [found])
    return _view(found, own.get(host, []), installation.hosts.now())


async def _own_gates(
    installation: Installation, found: Sequence[HostRecord]
) -> dict[str, list[OwnerGateView]]:
    """Return what users set at these hosts for their own runs, by host."""
    by_host: dict[str, list[OwnerGateView]] = {}
    if not found:
        return by_host
    now = installation.hosts.now()
    for one in await installation.hosts.own_gates(found[0].host, found[-1].host):
        is_held = one.held_until > now
        view = OwnerGateView(
            one.owner,
            one.delay_s,
            format_time(one.held_until) if is_held else None,
            one.hold_reason if is_held else "",
        )
        by_host.setdefault(one.host, []).append(view)
    return by_host


def _name(host: str) -> str:
    """Return the politeness key of a host name, with or without a port."""
    normal = normal_url(f"http://{host.strip()}/")
    name = "" if normal is None or any(mark in host for mark in "/?#@\\") else host_of(normal)
    if not _is_name(name):
        raise RequestInvalid(
            f"{host[:100]!r} is not a host name",
            hint="write it as shop.example.com; wildcards are not supported",
        )
    return name


def _is_name(name: str) -> bool:
    """True for a resolvable host name, or an address in brackets."""
    if name.startswith("["):
        return True
    return len(name) <= MAX_NAME_LENGTH and all(map(LABEL.fullmatch, name.split(".")))


def _view(one: HostRecord, owners: list[OwnerGateView], now: float) -> HostGateView:
    is_held = one.held_until > now
    return HostGateView(
        host=one.host,
        domain=one.domain,
        delay_s=one.delay_s,
        delays_s=HostDelays(one.run_s, one.robots_s, one.adaptive_s, one.operator_s),
        held_until=format_time(one.held_until) if is_held else None,
        hold_reason=one.hold_reason if is_held else "",
        on_trial=one.is_on_trial,
        in_flight=one.in_flight,
        runs=one.runs,
        owners=owners,
    )
