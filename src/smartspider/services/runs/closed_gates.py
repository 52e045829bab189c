"""Closed gates of a run as causes of a stall. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.store.diagnostics.requests import GateStatus
from smartspider.views.runs import Cause

HOSTS_NAMED = 5

ADVICE = {
    "host_held": "wait; requests resume automatically. `smartspider host resume` lifts a manual hold",
    "host_delay": "lower delay_s or raise rate_per_s of the run, if the host allows it",
    "robots_delay": "robots.txt of the host sets this delay; wait",
    "adaptive_delay": "the host returned errors; the delay decreases automatically as requests succeed",
    "operator_delay": "an admin set this delay for the host; ask an admin",
    "owner_delay": "the owner of the task set this delay; `smartspider host delay HOST 0 --own` removes it",
    "host_full": "raise per_host, or wait for slow responses",
    "host_on_trial": "the host kept failing and gets one request at a time until one succeeds",
    "domain_full": "raise politeness.per_domain in the task, or wait for slow responses",
}
"""Advice by code."""


class ClosedGate(msgspec.Struct, frozen=True):
    """A closed gate, when it opens, and why it is closed."""

    host: str
    code: str
    until: float
    why: str


def closed_gates(gates: Sequence[GateStatus], now: float) -> list[ClosedGate]:
    """Return the gates that are closed to a run."""
    return [closed for gate in gates if (closed := _closed(gate, now)) is not None]


def _closed(gate: GateStatus, now: float) -> ClosedGate | None:
    if gate.held_until > now:
        return ClosedGate(gate.host, "host_held", gate.held_until, gate.hold_reason or "held")
    if gate.opens_at > now:
        codes = {
            "robots.txt": "robots_delay",
            "adaptive": "adaptive_delay",
            "operator": "operator_delay",
            "owner": "owner_delay",
        }
        why = f"a delay of {gate.delay_s:g} s, set by {gate.set_by or 'its last slot'}"
        return ClosedGate(gate.host, codes.get(gate.set_by, "host_delay"), gate.opens_at, why)
    if gate.is_on_trial and gate.in_flight >= 1:
        return ClosedGate(gate.host, "host_on_trial", 0.0, "one request at a time after failures")
    if gate.in_flight >= gate.per_host:
        return ClosedGate(
            gate.host, "host_full", 0.0, f"{gate.in_flight} of {gate.per_host} requests in flight"
        )
    if gate.per_domain is not None and gate.in_flight_domain >= gate.per_domain:
        why = f"{gate.in_flight_domain} of {gate.per_domain} requests in flight to {gate.domain}"
        return ClosedGate(gate.host, "domain_full", 0.0, why)
    return None


def gate_causes(closed: Sequence[ClosedGate]) -> list[Cause]:
    """Return one cause for each kind of closed gate, with its hosts and the time the first one opens."""
    return [
        _cause(code, [one for one in closed if one.code == code]) for code in ADVICE if _has(closed, code)
    ]


def _has(closed: Sequence[ClosedGate], code: str) -> bool:
    return any(one.code == code for one in closed)


def _cause(code: str, alike: Sequence[ClosedGate]) -> Cause:
    first = min(alike, key=lambda one: one.until)
    hosts = [one.host for one in alike[:HOSTS_NAMED]]
    named = ", ".join(hosts) + (f" and {len(alike) - len(hosts)} more" if len(alike) > len(hosts) else "")
    until = format_time(first.until) if first.until else None
    verb = "waits" if len(alike) == 1 else "wait"
    kinds = {"host_held": f"{named} {'is' if len(alike) == 1 else 'are'} on hold"}
    what = f"{kinds.get(code, f'{named} {verb}')} ({first.why})" + (f" until {until}" if until else "")
    return Cause(code, what, ADVICE[code], until, hosts)
