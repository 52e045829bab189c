"""Hosts, their gates and their robots.txt; holding, resuming and slowing down a host.

All functions run inside a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from smartspider.core.errors import QuotaReached
from smartspider.core.requests.domains import registrable_domain
from smartspider.interfaces.robots_cache import RobotsAnswer
from smartspider.store import audit, statements
from smartspider.store.database import Connection, row

SQL = statements.load("gates.sql", __package__)

ADAPTIVE = "adaptive"
"""The source of a delay that grew after 429, 503 or timeouts."""
MAX_OWN_GATES = 200
"""Hosts that a user may hold or slow down for the user's own runs."""


class Elsewhere(msgspec.Struct, frozen=True):
    """The demands on a gate of other crawls of this machine, with data folders of their own."""

    delay_s: float = 0.0
    in_flight: int = 0
    in_domain: int = 0
    """Requests in flight at all hosts of the registrable domain."""
    waiting: int = 0
    """Crawls that have waited for a slot longer than this one."""


class GateState(msgspec.Struct, frozen=True):
    """The gate of a host at one moment."""

    host_id: int
    sent_until: float
    turn: float
    """Service count of the lane that was served last; no lane falls behind it by more than one."""
    held_until: float
    robots_s: float
    adaptive_s: float
    operator_s: float
    run_s: float
    openings: int
    domain: str
    per_host: int
    per_domain: int | None
    host: str = ""
    hold_reason: str = ""
    elsewhere: Elsewhere = Elsewhere()

    @property
    def delay_s(self) -> float:
        """The delay from start to start in seconds: the largest of all sources."""
        return max(self.run_s, self.robots_s, self.adaptive_s, self.operator_s, self.elsewhere.delay_s)

    @property
    def set_by(self) -> str:
        """The source of the largest delay; empty if there is none."""
        voices = {
            "task": self.run_s,
            "robots.txt": self.robots_s,
            ADAPTIVE: self.adaptive_s,
            "operator": self.operator_s,
            "another crawl": self.elsewhere.delay_s,
        }
        return max(voices, key=voices.__getitem__) if self.delay_s > 0.0 else ""

    @property
    def is_on_trial(self) -> bool:
        """The circuit has opened and no answer succeeded since: one request at a time."""
        return self.openings > 0

    @property
    def limit(self) -> int:
        """The number of requests that may be in flight."""
        return 1 if self.is_on_trial else self.per_host

    @property
    def opens_at(self) -> float:
        """The first moment at which a slot may start."""
        return max(self.sent_until + self.delay_s, self.held_until)


def find_hosts(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of hosts by name. New hosts get a row."""
    wanted = dict.fromkeys(names)
    found = {name: host_id for name in wanted if (host_id := connection.hosts.get(name)) is not None}
    missing = sorted(wanted.keys() - found.keys())
    if missing:
        found |= _looked_up(connection, missing)
        new = sorted(wanted.keys() - found.keys())
        if new:
            connection.executemany(SQL.add_host, [(name, registrable_domain(name)) for name in new])
            found |= _looked_up(connection, new)
    return found


def _looked_up(connection: Connection, names: list[str]) -> dict[str, int]:
    found = {}
    for host_id, name in connection.executemany(SQL.find_host, [(name,) for name in names]):
        found[name] = int(host_id)
        connection.hosts.add(name, int(host_id))
    return found


def find_host(connection: Connection, name: str) -> int:
    """Return the id of a host. A new host gets a row."""
    return find_hosts(connection, (name,))[name]


def read_gate(connection: Connection, host_id: int) -> GateState:
    """Return the gate of a host."""
    found = row(connection, SQL.gate, (host_id,))
    assert found is not None  # noqa: S101 - host rows are never deleted
    return GateState(host_id, *found)


class OwnGateState(msgspec.Struct, frozen=True):
    """The delays and the hold at a host that apply to one run alone."""

    run_s: float = 0.0
    """The delay of the run, if it is too long to apply to all runs."""
    owner_s: float = 0.0
    """The delay that its owner set."""
    held_until: float = 0.0
    reason: str = ""
    owner: str = ""
    sent_until: float = 0.0
    """End of the last slot of the run; 0 if it is not known."""

    @property
    def delay_s(self) -> float:
        """The longer of both delays."""
        return max(self.run_s, self.owner_s)

    @property
    def set_by(self) -> str:
        """The source of the delay."""
        return "task" if self.run_s >= self.owner_s else "owner"

    @property
    def opens_at(self) -> float:
        """The first moment at which a slot of the run may start."""
        is_waiting = self.sent_until and self.delay_s
        return max(self.sent_until + self.delay_s if is_waiting else 0.0, self.held_until)


def read_own_gate(connection: Connection, run_id: int, host_id: int) -> OwnGateState:
    """Return the delays and the hold at a host that apply to one run alone."""
    found = row(connection, SQL.own_gate, (run_id, host_id))
    return OwnGateState(*found) if found else OwnGateState()


def read_robots(connection: Connection, origin: str) -> RobotsAnswer | None:
    """Return the stored robots.txt of an origin."""
    found = row(connection, SQL.get_robots, (origin,))
    return RobotsAnswer(*found) if found else None


def store_robots(
    connection: Connection, answer: RobotsAnswer, host: str, crawl_delay_s: float | None
) -> None:
    """Store the robots.txt of a host, and its Crawl-delay with the gate."""
    host_id = find_host(connection, host)
    connection.execute(
        SQL.put_robots,
        (
            *(answer.origin, host_id, crawl_delay_s or 0.0, answer.status, answer.body),
            *(answer.fetched_at, answer.expires_at),
        ),
    )
    if crawl_delay_s or row(connection, SQL.crawl_delay, (host_id,)) != (0.0,):
        # Without a Crawl-delay the gate stays untouched: few hosts have one, and a broad crawl asks all of
        # them.
        connection.execute(SQL.set_crawl_delay, (host_id,))
        connection.frontier.gate_changed(host_id)


class Operator(msgspec.Struct, frozen=True):
    """The actor and the time of an action."""

    now: float
    actor: str | None = None
    """A person or token; None for the crawler itself, which is not audited."""
    owner: str | None = None
    """The user whose runs it concerns; None for all runs."""


def hold(connection: Connection, host: str, seconds: float, reason: str, by: Operator) -> int:
    """Send nothing to a host for some seconds. A longer hold is not shortened."""
    host_id = find_host(connection, host)
    if by.owner is None:
        connection.execute(SQL.hold, (by.now + seconds, reason, host_id))
    else:
        connection.execute(SQL.hold_own, (by.owner, host_id, by.now + seconds, reason))
        _check_number(connection, by)
    _note(connection, by, "host.held", host, seconds=seconds, reason=reason)
    return host_id


def resume(connection: Connection, host: str, by: Operator) -> int:
    """End a hold and reset the adaptive delay; for the runs of a user, end the user's hold only."""
    host_id = find_host(connection, host)
    if by.owner is None:
        connection.execute(SQL.resume, (host_id,))
    else:
        connection.execute(SQL.resume_own, (by.owner, host_id))
    _note(connection, by, "host.resumed", host)
    return host_id


def slow(connection: Connection, host: str, delay_s: float, by: Operator) -> int:
    """Set the operator's delay between two slots of a host; 0 removes it."""
    host_id = find_host(connection, host)
    if by.owner is None:
        connection.execute(SQL.slow, (delay_s, host_id))
    else:
        connection.execute(SQL.slow_own, (by.owner, host_id, delay_s))
        _check_number(connection, by)
    _note(connection, by, "host.slowed", host, delay_s=delay_s)
    return host_id


def _check_number(connection: Connection, by: Operator) -> None:
    """Raise `QuotaReached` if a user holds or slows down too many hosts: every lease reads them."""
    connection.execute(SQL.drop_own, (by.owner, by.now))
    found = row(connection, SQL.count_own, (by.owner,))
    if found and found[0] > MAX_OWN_GATES:
        raise QuotaReached(
            f"{by.owner} holds or slows down {MAX_OWN_GATES} hosts, which is the maximum",
            hint="resume hosts that need it no longer, or pause the runs",
        )


def _note(connection: Connection, by: Operator, action: str, host: str, **detail: object) -> None:
    if by.owner is not None:
        detail["runs_of"] = by.owner
    if by.actor is not None:
        audit.write(connection, by.now, by.actor, action, f"host:{host}", **detail)
