"""The gate of a host: whether and when a request may be sent. All functions run inside a transaction."""

from __future__ import annotations

from smartspider.core.frontier.lease import GateClosed, SendWindow
from smartspider.core.requests.politeness import PERMIT_AHEAD_S, WINDOW_MIN_S, window_length_s
from smartspider.store.database import Connection, row
from smartspider.store.hosts.gates import SQL, GateState, read_gate

FULL_S = 60.0
"""A full host opens when a lease ends; this is only an upper bound."""


def room(connection: Connection, gate: GateState, now: float) -> int:
    """Return how many requests may be sent to the host now."""
    if gate.opens_at > now:
        return 0
    left = _left(connection, gate)
    return min(left, 1) if gate.delay_s > 0.0 else left


def room_ahead(connection: Connection, gate: GateState, now: float, until: float) -> int:
    """Return how many windows of a host with a delay begin by `until`."""
    wait_s = until - max(now, gate.opens_at)
    if wait_s < 0.0 or gate.delay_s <= 0.0:
        return 0
    windows = 1 + int(wait_s / (gate.delay_s + window_length_s(gate.delay_s)))
    return min(windows, _left(connection, gate))


def _left(connection: Connection, gate: GateState) -> int:
    """Return how many more requests the host may have in flight."""
    in_flight = _count(connection, SQL.in_flight, gate.host_id)
    left = (1 if gate.is_on_trial else gate.per_host) - in_flight
    if gate.per_domain is not None:
        left = min(left, gate.per_domain - _count(connection, SQL.in_flight_domain, gate.domain))
    return left


def reserve(connection: Connection, gate: GateState, now: float, count: int = 1) -> list[SendWindow]:
    """Reserve the next windows of a host, each a window and a delay after the one before; without a delay all
    requests have the same.
    """
    start = max(now, gate.opens_at)
    if gate.delay_s > 0.0 or start > now:
        # A slot after a hold is waited for even without a delay, since only a spaced window is.
        length_s, delay_s = window_length_s(gate.delay_s), gate.delay_s or WINDOW_MIN_S
        starts = [start + number * (length_s + delay_s) for number in range(count)]
        windows = [SendWindow(at, at + length_s, delay_s) for at in starts]
    else:
        windows = [SendWindow(now, now, 0.0)] * count
    connection.execute(SQL.reserve, (windows[-1].not_after, gate.host_id))
    return windows


def permit(connection: Connection, gate: GateState, now: float) -> SendWindow | GateClosed:
    """Reserve the next slot of a host if it is near, since a later hold could revoke it."""
    if gate.opens_at > now + PERMIT_AHEAD_S:
        return GateClosed(gate.opens_at - PERMIT_AHEAD_S)
    (window,) = reserve(connection, gate, now)
    if not window.is_free:
        reopen_lanes(connection, gate.host_id, now)
    return window


def close_lanes(connection: Connection, gate: GateState, now: float, *, is_full: bool) -> None:
    """Close the lanes of a host whose gate is closed."""
    wake_at = max(gate.opens_at, now + FULL_S if is_full else now)
    connection.execute(SQL.close_lanes, (wake_at if wake_at > now else None, gate.host_id))


def reopen_lanes(connection: Connection, host_id: int, now: float) -> None:
    """Open the lanes of a host when the next slot may start, after a lease or a hold ended."""
    gate = read_gate(connection, host_id)
    connection.execute(SQL.close_lanes, (gate.opens_at if gate.opens_at > now else None, host_id))
    if gate.per_domain is not None:
        connection.execute(SQL.open_siblings, (gate.domain, host_id))


def _count(connection: Connection, sql: str, key: int | str) -> int:
    found = row(connection, sql, (key,))
    return int(found[0]) if found else 0
