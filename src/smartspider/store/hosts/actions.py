"""What people and programs do to the gate of a host, with its entry in the audit where a person did it.

Everything here runs inside a transaction, and gives the id of the host.
"""

from __future__ import annotations

import msgspec

from smartspider.store import audit
from smartspider.store.database import Connection
from smartspider.store.hosts import gates


class Operator(msgspec.Struct, frozen=True):
    """Who acts and when."""

    now: float
    actor: str | None = None
    """A person; None: nobody needs to be told."""


def hold(connection: Connection, host: str, seconds: float, reason: str, by: Operator) -> int:
    """Send nothing to a host for so long; a hold that lasts longer already is not shortened."""
    host_id = gates.find_host(connection, host)
    connection.execute(gates.SQL.hold, (by.now + seconds, reason, host_id))
    _note(connection, by, "host.held", host, seconds=seconds, reason=reason)
    return host_id


def resume(connection: Connection, host: str, by: Operator) -> int:
    """Lift a hold, and forget what made the host slow."""
    host_id = gates.find_host(connection, host)
    connection.execute(gates.SQL.resume, (host_id,))
    _note(connection, by, "host.resumed", host)
    return host_id


def slow(connection: Connection, host: str, delay_s: float, by: Operator) -> int:
    """Have the slots of a host at least so far apart; 0 takes that back."""
    host_id = gates.find_host(connection, host)
    connection.execute(gates.SQL.slow, (delay_s, host_id))
    _note(connection, by, "host.slowed", host, delay_s=delay_s)
    return host_id


def _note(connection: Connection, by: Operator, action: str, host: str, **detail: object) -> None:
    if by.actor is not None:
        audit.write(connection, by.now, by.actor, action, f"host:{host}", **detail)
