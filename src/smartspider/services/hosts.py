"""Hosts and their gates: list, hold, resume and slow down. Changes apply to all runs."""

from __future__ import annotations

import re

from smartspider.core.access import Principal, require
from smartspider.core.datetimes import format_time
from smartspider.core.errors import RequestInvalid
from smartspider.core.requests.urls import host_of, normal_url
from smartspider.installation.installation import Installation
from smartspider.services.inputs import check_text, to_page
from smartspider.store.hosts.store import HostRecord
from smartspider.views.hosts import HostDelays, HostGateView
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
    return to_page(found, limit, lambda one: one.host, lambda one: _view(one, now))


async def hold_host(
    installation: Installation, principal: Principal, host: str, seconds: float, reason: str = ""
) -> HostGateView:
    """Send nothing to a host for some time; a longer hold is not shortened."""
    require(principal, "hosts", "write")
    name = _name(host)
    check_text("reason", reason)
    if not 0.0 < seconds <= MAX_HOLD_S:
        raise RequestInvalid(
            "a hold lasts more than 0 seconds and at most a year", hint="for example 10m, 2h or 7d"
        )
    await installation.frontier.hold_host(name, seconds, reason or DEFAULT_REASON, actor=principal.name)
    return await _gate(installation, name)


async def resume_host(installation: Installation, principal: Principal, host: str) -> HostGateView:
    """End a hold and reset the adaptive delay."""
    require(principal, "hosts", "write")
    name = (await installation.hosts.get(_name(host))).host
    await installation.frontier.resume_host(name, actor=principal.name)
    return await _gate(installation, name)


async def slow_host(
    installation: Installation, principal: Principal, host: str, delay_s: float
) -> HostGateView:
    """Set a minimum delay for a host, whatever runs and robots.txt ask for; 0 removes it."""
    require(principal, "hosts", "write")
    name = _name(host)
    if not 0.0 <= delay_s <= MAX_DELAY_S:
        raise RequestInvalid("a delay is between 0 and 86400 seconds", hint="0 removes an operator's delay")
    await installation.frontier.slow_host(name, delay_s, actor=principal.name)
    return await _gate(installation, name)


async def _gate(installation: Installation, host: str) -> HostGateView:
    return _view(await installation.hosts.get(host), installation.hosts.now())


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


def _view(one: HostRecord, now: float) -> HostGateView:
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
    )
