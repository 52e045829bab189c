"""Hosts and their gates as the store knows them. Everything here runs inside a transaction."""

from __future__ import annotations

import msgspec

from smartspider.backends.domains import registrable_domain
from smartspider.backends.sql import statements
from smartspider.backends.sql.connection import Connection, row

SQL = statements.load("gate.sql")


class Gate(msgspec.Struct, frozen=True):
    """A host's gate at one moment."""

    host_id: int
    sent_until: float
    turn: float
    """How far the lane had got that was served last; no lane falls behind it by more than one."""
    held_until: float
    robots_s: float
    adaptive_s: float
    operator_s: float
    run_s: float
    openings: int
    domain: str
    per_host: int
    per_domain: int | None

    @property
    def delay_s(self) -> float:
        """Seconds from start to start: the largest of all who have a say."""
        return max(self.run_s, self.robots_s, self.adaptive_s, self.operator_s)

    @property
    def is_on_trial(self) -> bool:
        """Its circuit has opened and no answer was good since: one request at a time."""
        return self.openings > 0

    @property
    def opens_at(self) -> float:
        """The first moment a slot may start."""
        return max(self.sent_until + self.delay_s, self.held_until)


class HostIds(dict[str, int]):
    """Ids of hosts by their names, looked up or made when they are asked for."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, host: str) -> int:
        self[host] = host_id = find_host(self._connection, host)
        return host_id


def find_host(connection: Connection, name: str) -> int:
    """The row of a host, made when it is new."""
    found = row(connection, SQL.find_host, (name,))
    if found is None:
        connection.execute(SQL.add_host, (name, registrable_domain(name)))
        found = row(connection, SQL.find_host, (name,))
    assert found is not None  # noqa: S101 - it was inserted in this transaction
    return int(found[0])


def read_gate(connection: Connection, host_id: int) -> Gate:
    """The gate of a host, as the store has it."""
    found = row(connection, SQL.gate, (host_id,))
    assert found is not None  # noqa: S101 - host rows are never deleted
    return Gate(host_id, *found)
