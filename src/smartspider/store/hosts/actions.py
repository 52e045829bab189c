"""Holding, resuming and slowing down a host, with an audit entry where a person does it.

All functions run inside a transaction and return the id of the host.
"""

from __future__ import annotations

import msgspec

from smartspider.store import audit
from smartspider.store.database import Connection
from smartspider.store.hosts import gates


class Operator(msgspec.Struct, frozen=True):
    """The actor and the time of an action."""

    now: float
    actor: str | None = None
    """A person or token; None for the crawler itself, which is not audited."""


def hold(connection: Connection, host: str, seconds: float, reason: str, by: Operator) -> int:
    """Send nothing to a host for some seconds. A longer hold is not shortened."""
    host_id = gates.find_host(connection, host)
    connection.execute(gates.SQL.hold, (by.now + seconds, reason, host_id))
    _note(connection, by, "host.held", host, seconds=seconds, reason=reason)
    return host_id


def resume(connection: Connection, host: str, by: Operator) -> int:
    """End a hold and reset the adaptive delay."""
    host_id = gates.find_host(connection, host)
    connection.execute(gates.SQL.resume, (host_id,))
    _note(connection, by, "host.resumed", host)
    return host_id


def slow(connection: Connection, host: str, delay_s: float, by: Operator) -> int:
    """Set the operator's delay between two slots of a host; 0 removes it."""
    host_id = gates.find_host(connection, host)
    connection.execute(gates.SQL.slow, (delay_s, host_id))
    _note(connection, by, "host.slowed", host, delay_s=delay_s)
    return host_id


def _note(connection: Connection, by: Operator, action: str, host: str, **detail: object) -> None:
    if by.actor is not None:
        audit.write(connection, by.now, by.actor, action, f"host:{host}", **detail)
