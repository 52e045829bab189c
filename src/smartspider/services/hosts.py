"""Hosts: what their gates stand at, and turning that by hand. It counts for all runs, wherever they work."""

from __future__ import annotations

import re

from smartspider.core.access import Principal, require
from smartspider.core.errors import RequestInvalid
from smartspider.core.requests.urls import host_of, normal_url
from smartspider.installation.installation import Installation
from smartspider.services.inputs import check_text, page_of
from smartspider.store.hosts.store import HostRecord
from smartspider.views.hosts import HostDelays, HostGateView
from smartspider.views.listed import Listed
from smartspider.views.times import format_time

LONGEST_HOLD_S = 366 * 86_400.0
LONGEST_DELAY_S = 86_400.0
LONGEST_NAME = 253
LABEL = re.compile(r"[a-z0-9_-]{1,63}")
BY_HAND = "held by hand"


async def list_hosts(
    installation: Installation,
    principal: Principal,
    *,
    held: bool = False,
    cursor: str | None = None,
    limit: int = 100,
) -> Listed[HostGateView]:
    """Hosts by name, or only those that are held now."""
    require(principal, "hosts", "read")
    found = await installation.hosts.find(is_held=held, after=cursor or "", limit=limit + 1)
    now = installation.hosts.now()
    return page_of(found, limit, lambda one: one.host, lambda one: _view(one, now))


async def hold_host(
    installation: Installation, principal: Principal, host: str, seconds: float, reason: str = ""
) -> HostGateView:
    """Send nothing to a host for so long; a hold that lasts longer already is not shortened."""
    require(principal, "hosts", "write")
    name = _name(host)
    check_text("reason", reason)
    if not 0.0 < seconds <= LONGEST_HOLD_S:
        raise RequestInvalid("a host is held for more than no time and at most a year", hint="10m, 2h, 7d")
    await installation.frontier.hold_host(name, seconds, reason or BY_HAND, actor=principal.name)
    return await _gate(installation, name)


async def resume_host(installation: Installation, principal: Principal, host: str) -> HostGateView:
    """Lift a hold, and forget what made the host slow."""
    require(principal, "hosts", "write")
    name = (await installation.hosts.get(_name(host))).host
    await installation.frontier.resume_host(name, actor=principal.name)
    return await _gate(installation, name)


async def slow_host(
    installation: Installation, principal: Principal, host: str, delay_s: float
) -> HostGateView:
    """Keep at least this delay at a host, whatever runs and robots.txt ask; 0 takes that back."""
    require(principal, "hosts", "write")
    name = _name(host)
    if not 0.0 <= delay_s <= LONGEST_DELAY_S:
        raise RequestInvalid("a delay is from 0 to 86400 seconds", hint="0 takes an operator's delay back")
    await installation.frontier.slow_host(name, delay_s, actor=principal.name)
    return await _gate(installation, name)


async def _gate(installation: Installation, host: str) -> HostGateView:
    return _view(await installation.hosts.get(host), installation.hosts.now())


def _name(host: str) -> str:
    """The politeness key that is meant: a hostname, with or without a port."""
    normal = normal_url(f"http://{host.strip()}/")
    name = "" if normal is None or any(mark in host for mark in "/?#@\\") else host_of(normal)
    if not _is_name(name):
        raise RequestInvalid(
            f"{host[:100]!r} is not the name of a host",
            hint="write it as shop.example.com; each host is named by itself, there is no * for many",
        )
    return name


def _is_name(name: str) -> bool:
    """What a resolver could be asked for, or an address in brackets."""
    if name.startswith("["):
        return True
    return len(name) <= LONGEST_NAME and all(map(LABEL.fullmatch, name.split(".")))


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
