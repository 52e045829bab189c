"""The gate of a host: whether and when a request may be sent. All functions run inside a transaction."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.backends.sqlite.gates.machine_gates import MachineGates
from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.requests.politeness import (
    PERMIT_AHEAD_S,
    WINDOW_MIN_S,
    PolitenessPolicy,
    window_length_s,
)
from smartspider.store.database import Connection, row
from smartspider.store.hosts.gates import SQL, GateState, read_gate

FULL_S = 60.0
"""A full host opens when a lease ends; this is only an upper bound."""
FULL_ELSEWHERE_S = 0.05
"""Interval of asking for a host that is full because of other crawls of this machine."""


class GateConnection(Connection, Protocol):
    """A connection to a data folder, and to the gates that all crawls of this machine share."""

    @property
    def gates(self) -> MachineGates:
        """The shared gates."""


def read(connection: GateConnection, host_id: int) -> GateState:
    """Return the gate of a host, as strict as all crawls of this machine together ask."""
    return connection.gates.see(read_gate(connection, host_id))


def claim(connection: GateConnection, host_id: int) -> GateState:
    """Return the gate of a host like `read`, for reserving slots."""
    return connection.gates.claim(read_gate(connection, host_id), _count(connection, SQL.in_flight, host_id))


def single_permit(
    connection: GateConnection, host_id: int, delay_s: float, now: float
) -> SendWindow | GateClosed:
    """Reserve the next slot for a request that belongs to no run, after at least this delay."""
    gate = read_gate(connection, host_id)
    per_host = max(gate.per_host, PolitenessPolicy().per_host)  # without a run, a host has the lowest limit
    gate = msgspec.structs.replace(gate, run_s=max(gate.run_s, delay_s), per_host=per_host)
    gate = connection.gates.claim(gate, _count(connection, SQL.in_flight, host_id))
    if gate.elsewhere.in_flight >= gate.limit:
        return GateClosed(now + FULL_ELSEWHERE_S)
    return permit(connection, gate, now, leases=1)


def room(connection: Connection, gate: GateState, now: float) -> int:
    """Return how many requests may be sent to the host now."""
    if gate.opens_at > now:
        return 0
    left = _left(connection, gate)
    return min(left, 1) if gate.delay_s > 0.0 else left


def room_ahead(connection: Connection, gate: GateState, now: float, until: float) -> int:
    """Return how many windows of a host with a delay begin by `until`."""
    wait_s = until - max(now, gate.opens_at)
    if wait_s < 0.0 or gate.delay_s <= 0.0 or gate.elsewhere.waiting:
        return 0
    windows = 1 + int(wait_s / (gate.delay_s + window_length_s(gate.delay_s)))
    return min(windows, _left(connection, gate))


def _left(connection: Connection, gate: GateState) -> int:
    """Return how many more requests the host may have in flight."""
    in_flight, elsewhere = _count(connection, SQL.in_flight, gate.host_id), gate.elsewhere
    left = gate.limit - in_flight - elsewhere.in_flight
    if elsewhere.waiting:
        left = min(left, gate.limit // (1 + elsewhere.waiting) - in_flight)
    if gate.per_domain is not None:
        in_domain = _count(connection, SQL.in_flight_domain, gate.domain) + elsewhere.in_domain
        left = min(left, gate.per_domain - in_domain)
    return left


def reserve(
    connection: GateConnection, gate: GateState, now: float, count: int = 1, *, leases: int = 0
) -> list[SendWindow]:
    """Reserve the next windows of a host that was claimed, each a window and a delay after the one before;
    without a delay all requests have the same. `leases` of them are for more requests in flight.
    """
    start = max(now, gate.opens_at)
    if gate.delay_s > 0.0 or start > now:
        # A slot after a hold is waited for even without a delay, since only a spaced window is.
        length_s, delay_s = window_length_s(gate.delay_s), gate.delay_s or WINDOW_MIN_S
        starts = [start + number * (length_s + delay_s) for number in range(count)]
        windows = [SendWindow(at, at + length_s, delay_s) for at in starts]
    else:
        windows = [SendWindow(now, now, 0.0)] * count
    last = windows[-1]
    connection.gates.reserve(gate, None if last.is_free else last.not_after, leases)
    connection.execute(SQL.reserve, (last.not_after, gate.host_id))
    return windows


def permit(
    connection: GateConnection, gate: GateState, now: float, *, leases: int = 0
) -> SendWindow | GateClosed:
    """Reserve the next slot of a host that was claimed if it is near, since a later hold could revoke it."""
    if gate.opens_at > now + PERMIT_AHEAD_S:
        return GateClosed(gate.opens_at - PERMIT_AHEAD_S)
    (window,) = reserve(connection, gate, now, leases=leases)
    if not window.is_free:
        close_lanes(connection, read(connection, gate.host_id), now, is_full=False)
    return window


def close_lanes(connection: Connection, gate: GateState, now: float, *, is_full: bool) -> None:
    """Close the lanes of a host whose gate is closed."""
    full_s = FULL_ELSEWHERE_S if gate.elsewhere.in_domain or gate.elsewhere.waiting else FULL_S
    wake_at = max(gate.opens_at, now + full_s if is_full else now)
    connection.execute(SQL.close_lanes, (wake_at if wake_at > now else None, gate.host_id))


def reopen_lanes(connection: GateConnection, host_id: int, now: float) -> None:
    """Open the lanes of a host when the next slot may start, after a lease or a hold ended or the gate
    changed; other crawls of this machine learn of it.
    """
    own, in_flight = read_gate(connection, host_id), _count(connection, SQL.in_flight, host_id)
    is_idle = not in_flight and row(connection, SQL.has_queued, (host_id,)) is None
    connection.gates.publish(own, in_flight, is_idle=is_idle)
    gate = connection.gates.see(own)
    connection.execute(SQL.close_lanes, (gate.opens_at if gate.opens_at > now else None, host_id))
    if gate.per_domain is not None:
        connection.execute(SQL.open_siblings, (gate.domain, host_id))


def _count(connection: Connection, sql: str, key: int | str) -> int:
    found = row(connection, sql, (key,))
    return int(found[0]) if found else 0
