"""The host gate: who may send to a host, and when. Everything here runs inside a transaction."""

from __future__ import annotations

from functools import lru_cache

import apsw
import msgspec
from publicsuffixlist import PublicSuffixList

from smartspider.backends.sqlite import statements
from smartspider.backends.sqlite.database import row
from smartspider.core.lease import Window
from smartspider.core.politeness import WINDOW_MIN_S, window_s

SQL = statements.load("gate.sql")

FULL_S = 60.0
"""A host that is full opens when a lease ends; this is only how long it is trusted to be full."""


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

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, host: str) -> int:
        self[host] = host_id = find_host(self._connection, host)
        return host_id


def find_host(connection: apsw.Connection, name: str) -> int:
    """The row of a host, made when it is new."""
    found = row(connection, SQL.find_host, (name,))
    if found is None:
        connection.execute(SQL.add_host, (name, registrable_domain(name)))
        found = row(connection, SQL.find_host, (name,))
    assert found is not None  # noqa: S101 - it was inserted in this transaction
    return int(found[0])


def read_gate(connection: apsw.Connection, host_id: int) -> Gate:
    """The gate of a host, as the store has it."""
    found = row(connection, SQL.gate, (host_id,))
    assert found is not None  # noqa: S101 - host rows are never deleted
    return Gate(host_id, *found)


def room(connection: apsw.Connection, gate: Gate, now: float) -> int:
    """How many requests may leave for the host at this moment."""
    if gate.opens_at > now:
        return 0
    in_flight = _count(connection, SQL.in_flight, gate.host_id)
    left = (1 if gate.is_on_trial else gate.per_host) - in_flight
    if gate.per_domain is not None:
        left = min(left, gate.per_domain - _count(connection, SQL.in_flight_domain, gate.domain))
    return min(left, 1) if gate.delay_s > 0.0 else left


def reserve(connection: apsw.Connection, gate: Gate, now: float) -> Window:
    """Take the next slot of a host; the one after it starts a window and a delay later."""
    start = max(now, gate.opens_at)
    if gate.delay_s > 0.0 or start > now:
        # A slot after a hold is waited for also where there is no delay: only a spaced window is.
        window = Window(start, start + window_s(gate.delay_s), gate.delay_s or WINDOW_MIN_S)
    else:
        window = Window(now, now, 0.0)
    connection.execute(SQL.reserve, (window.not_after, gate.host_id))
    return window


def close_lanes(connection: apsw.Connection, gate: Gate, now: float, *, is_full: bool) -> None:
    """Keep workers from asking at a gate that is closed."""
    wake_at = max(gate.opens_at, now + FULL_S if is_full else now)
    connection.execute(SQL.close_lanes, (wake_at if wake_at > now else None, gate.host_id))


def reopen_lanes(connection: apsw.Connection, host_id: int, now: float) -> None:
    """A lease of the host ended, or its hold was lifted: ask again as soon as a slot may start."""
    gate = read_gate(connection, host_id)
    connection.execute(SQL.close_lanes, (gate.opens_at if gate.opens_at > now else None, host_id))
    if gate.per_domain is not None:
        connection.execute(SQL.open_siblings, (gate.domain, host_id))


def _count(connection: apsw.Connection, sql: str, key: int | str) -> int:
    found = row(connection, sql, (key,))
    return int(found[0]) if found else 0


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(maxsize=65536)
def registrable_domain(host: str) -> str:
    """What one owner can register: `a.example.co.uk` is part of `example.co.uk`. An address is its own."""
    if host.startswith("[") or host.rpartition(".")[2].isdigit():
        return host
    return str(_suffixes().privatesuffix(host) or host)
