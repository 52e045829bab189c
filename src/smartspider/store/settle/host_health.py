"""The health of hosts: slow down, recover, hold, abandon. Runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.events import Event, HostAbandoned, HostHeld
from smartspider.core.frontier.verdict import Close, ClosedState, Settlement
from smartspider.core.requests import politeness
from smartspider.store import statements
from smartspider.store.database import Connection, rows
from smartspider.store.hosts import gates
from smartspider.store.settle.left_out import LeftOutCounts
from smartspider.store.settle.run import CounterDeltas

SQL = statements.load("settle.sql", __package__)


class HostState(msgspec.Struct):
    """The health of a host, and what the settle changes."""

    adaptive_s: float
    failures: int
    openings: int
    held_until: float
    slowed_at: float
    has_answered: int
    requests: int = 0
    refusals: int = 0
    is_changed: bool = False
    hold_s: float = 0.0
    reason: str = ""

    @property
    def is_healthy(self) -> bool:
        """Return whether a good answer changes nothing."""
        return bool(self.has_answered) and not (self.adaptive_s or self.failures or self.openings)


class HostHealth:
    """Collects news about hosts during a settle, and acts on them once per host."""

    def __init__(
        self, connection: Connection, run_id: int, settlements: Sequence[Settlement], now: float
    ) -> None:
        self._connection = connection
        self._run_id = run_id
        self._now = now
        self._states: dict[int, HostState] = {}
        self._names: dict[int, str] = {}
        names = dict.fromkeys(settlement.lease.request.host for settlement in settlements)
        self._query = connection.executemany(gates.SQL.health, [(name,) for name in names])
        self._with_news = {one.lease.request.host for one in settlements if one.host_news is not None}
        self.is_adaptive = False

    def load(self) -> None:
        """Read the health of the hosts, and lock those that may change."""
        for host_id, name, *state in self._query:
            self._connection.hosts.add(name, host_id)
            self._names[host_id] = name
            self._states[host_id] = HostState(*state)
        changing = [
            (host_id,)
            for host_id, state in sorted(self._states.items())
            if self._names[host_id] in self._with_news or not state.is_healthy
        ]
        for host_id, _, *state in self._connection.executemany(gates.SQL.health_now, changing):
            self._states[host_id] = HostState(*state)

    def record(self, host_id: int, settlement: Settlement, *, is_late: bool) -> None:
        """Record what an answer says about its host. A late one may be a repetition, so it does not count."""
        state = self._states[host_id]
        is_skipped = isinstance(settlement.verdict, Close) and settlement.verdict.state == "skipped"
        state.requests += not (is_late or is_skipped)
        news = settlement.host_news
        if news is None:
            if isinstance(settlement.verdict, Close) and not is_skipped:
                _recover(state)
            return
        state.is_changed = True
        state.reason = news.reason
        # A request sent before the host was last held or slowed down says nothing new about it.
        begun_at = self._now - settlement.elapsed_s
        if not news.is_unreachable:
            state.failures = state.openings = 0
            state.has_answered = 1
        elif begun_at >= state.held_until:
            state.failures += 1
        if news.slow_down:
            state.refusals += 1
            if self.is_adaptive and begun_at >= state.slowed_at:
                self._slow_down(host_id, state)
        if news.hold_s is not None:
            state.hold_s = max(state.hold_s, news.hold_s)

    def _slow_down(self, host_id: int, state: HostState) -> None:
        gate = gates.read_gate(self._connection, host_id)
        delay_s = max(gate.run_s, gate.robots_s, gate.operator_s)
        state.adaptive_s = politeness.increased_delay_s(state.adaptive_s, delay_s)
        state.slowed_at = self._now

    def write(self, deltas: CounterDeltas, counts: LeftOutCounts) -> list[Event]:
        """Write the changes. Return the resulting events; `deltas` and `counts` get the requests of abandoned
        hosts.
        """
        events: list[Event] = []
        visits = [
            (self._run_id, host_id, state.requests, state.refusals, self._now)
            for host_id, state in sorted(self._states.items())
        ]
        self._connection.executemany(SQL.add_visit, visits)
        for host_id, state in self._states.items():
            if state.is_changed:
                events += self._act(host_id, state, deltas, counts)
        return events

    def _act(
        self, host_id: int, state: HostState, deltas: CounterDeltas, counts: LeftOutCounts
    ) -> list[Event]:
        connection = self._connection
        if state.failures >= politeness.CIRCUIT_FAILURES:
            state.hold_s = max(state.hold_s, politeness.circuit_hold_s(state.openings))
            state.openings += 1
            state.failures = politeness.CIRCUIT_FAILURES - 1
            state.reason = f"circuit: {state.reason}"
        connection.execute(
            gates.SQL.set_health,
            (
                *(state.adaptive_s, state.failures, state.openings, state.slowed_at),
                *(state.has_answered, host_id),
            ),
        )
        connection.frontier.gate_changed(host_id)
        max_openings = politeness.CIRCUIT_GIVE_UP if state.has_answered else politeness.CIRCUIT_GIVE_UP_UNSEEN
        events: list[Event] = []
        if state.openings >= max_openings:
            events += self._abandon(host_id, "dead", f"host down: {state.reason}", deltas, counts)
        elif state.hold_s > politeness.MAX_HOLD_S:
            reason = f"host held: asks for no requests for {state.hold_s:.0f} s"
            events += self._abandon(host_id, "skipped", reason, deltas, counts)
        if state.hold_s > 0.0:
            connection.execute(gates.SQL.hold, (self._now + state.hold_s, state.reason, host_id))
            events.append(HostHeld(self._run_id, self._names[host_id], state.hold_s, state.reason))
        return events

    def _abandon(
        self, host_id: int, state: ClosedState, reason: str, deltas: CounterDeltas, counts: LeftOutCounts
    ) -> list[Event]:
        """Close the open requests of a host that will not recover while a run can wait."""
        left = rows(self._connection, SQL.host_down, (self._run_id, host_id))
        cause = "host_held" if state == "skipped" else "host_down"
        self._connection.executemany(
            SQL.close,
            [(state, reason, cause, None, 0, None, self._now, None, None, url_id) for url_id, _ in left],
        )
        self._connection.frontier.forget_host(self._run_id, host_id, [url_id for url_id, _ in left])
        for _, is_next_page in left:
            deltas.count(state)
            if state == "skipped":
                counts.count_requests(("host_held", bool(is_next_page)), 1)
        return [HostAbandoned(self._run_id, self._names[host_id], len(left), reason)] if left else []


def _recover(state: HostState) -> None:
    """Record a good answer: the host is healthy, and its delay decreases."""
    if not state.is_healthy:
        state.adaptive_s = politeness.decreased_delay_s(state.adaptive_s)
        state.failures = state.openings = 0
        state.has_answered = 1
        state.is_changed = True
