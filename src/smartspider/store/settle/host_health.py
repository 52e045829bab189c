"""What answers say about their hosts: slow down, recover, hold, give up. Runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from smartspider.core.events import Event, HostAbandoned, HostHeld
from smartspider.core.frontier.verdict import Close, ClosedState, Settlement
from smartspider.core.requests import politeness
from smartspider.store import statements
from smartspider.store.database import Connection, rows
from smartspider.store.hosts import gates
from smartspider.store.settle.run import Sums

SQL = statements.load("settle.sql", __package__)

HELD = "host held: "
"""How the reason of a request begins that was skipped because its host is to be left alone for too long."""


class Standing(msgspec.Struct):
    """How a host stands, and what is new."""

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
    def is_well(self) -> bool:
        """A good answer changes nothing."""
        return bool(self.has_answered) and not (self.adaptive_s or self.failures or self.openings)


class HostTrouble:
    """Collects the news about hosts during a settle, and then acts on it once per host."""

    def __init__(
        self, connection: Connection, run_id: int, settlements: Sequence[Settlement], now: float
    ) -> None:
        self._connection = connection
        self._run_id = run_id
        self._now = now
        self._standings: dict[int, Standing] = {}
        self._names: dict[int, str] = {}
        names = dict.fromkeys(settlement.lease.request.host for settlement in settlements)
        self._asked = connection.executemany(gates.SQL.trouble, [(name,) for name in names])
        self._with_news = {one.lease.request.host for one in settlements if one.news is not None}
        self.is_adaptive = False

    def look(self) -> None:
        """Take in how the hosts stand; those that may change stand still from now on."""
        for host_id, name, *standing in self._asked:
            self._connection.hosts.add(name, host_id)
            self._names[host_id] = name
            self._standings[host_id] = Standing(*standing)
        changing = [
            (host_id,)
            for host_id, standing in sorted(self._standings.items())
            if self._names[host_id] in self._with_news or not standing.is_well
        ]
        for host_id, _, *standing in self._connection.executemany(gates.SQL.trouble_now, changing):
            self._standings[host_id] = Standing(*standing)

    def hear(self, host_id: int, settlement: Settlement, *, is_late: bool) -> None:
        """Take in what one answer says. A late one may be the same once more, so it is not counted."""
        standing = self._standings[host_id]
        is_skipped = isinstance(settlement.verdict, Close) and settlement.verdict.state == "skipped"
        standing.requests += not (is_late or is_skipped)
        news = settlement.news
        if news is None:
            if isinstance(settlement.verdict, Close) and not is_skipped:
                _recover(standing)
            return
        standing.is_changed = True
        standing.reason = news.reason
        # What was begun before the host was last held or slowed down says nothing new about it.
        begun_at = self._now - settlement.elapsed_s
        if not news.is_unreachable:
            standing.failures = standing.openings = 0
            standing.has_answered = 1
        elif begun_at >= standing.held_until:
            standing.failures += 1
        if news.slow_down:
            standing.refusals += 1
            if self.is_adaptive and begun_at >= standing.slowed_at:
                self._slow_down(host_id, standing)
        if news.hold_s is not None:
            standing.hold_s = max(standing.hold_s, news.hold_s)

    def _slow_down(self, host_id: int, standing: Standing) -> None:
        gate = gates.read_gate(self._connection, host_id)
        delay_s = max(gate.run_s, gate.robots_s, gate.operator_s)
        standing.adaptive_s = politeness.increased_delay_s(standing.adaptive_s, delay_s)
        standing.slowed_at = self._now

    def settle(self, sums: Sums) -> list[Event]:
        """Write what changed; the holds that follow. `sums` gets the requests of hosts given up."""
        events: list[Event] = []
        visits = [
            (self._run_id, host_id, standing.requests, standing.refusals, self._now)
            for host_id, standing in sorted(self._standings.items())
        ]
        self._connection.executemany(SQL.add_visit, visits)
        for host_id, standing in self._standings.items():
            if standing.is_changed:
                events += self._act(host_id, standing, sums)
        return events

    def _act(self, host_id: int, standing: Standing, sums: Sums) -> list[Event]:
        connection = self._connection
        if standing.failures >= politeness.CIRCUIT_FAILURES:
            standing.hold_s = max(standing.hold_s, politeness.circuit_hold_s(standing.openings))
            standing.openings += 1
            standing.failures = politeness.CIRCUIT_FAILURES - 1
            standing.reason = f"circuit: {standing.reason}"
        connection.execute(
            gates.SQL.set_trouble,
            (
                *(standing.adaptive_s, standing.failures, standing.openings, standing.slowed_at),
                *(standing.has_answered, host_id),
            ),
        )
        connection.moves.gate_changed(host_id)
        patience = politeness.CIRCUIT_GIVE_UP if standing.has_answered else politeness.CIRCUIT_GIVE_UP_UNSEEN
        events: list[Event] = []
        if standing.openings >= patience:
            events += self._give_up(host_id, "dead", f"host down: {standing.reason}", sums)
        elif standing.hold_s > politeness.MAX_HOLD_S:
            reason = f"{HELD}asks to be left alone for {standing.hold_s:.0f} s"
            events += self._give_up(host_id, "skipped", reason, sums)
        if standing.hold_s > 0.0:
            connection.execute(gates.SQL.hold, (self._now + standing.hold_s, standing.reason, host_id))
            events.append(HostHeld(self._run_id, self._names[host_id], standing.hold_s, standing.reason))
        return events

    def _give_up(self, host_id: int, state: ClosedState, reason: str, sums: Sums) -> list[Event]:
        """Nothing is to be had from the host in a time a run can wait: what is left of it is closed."""
        left = rows(self._connection, SQL.host_down, (self._run_id, host_id))
        self._connection.executemany(
            SQL.close, [(state, reason, None, 0, None, self._now, url_id) for (url_id,) in left]
        )
        self._connection.moves.forget_host(self._run_id, host_id, [url_id for (url_id,) in left])
        for _ in left:
            sums.count(state)
        return [HostAbandoned(self._run_id, self._names[host_id], len(left), reason)] if left else []


def _recover(standing: Standing) -> None:
    """A good answer: the host is well, and slowly trusted again."""
    if not standing.is_well:
        standing.adaptive_s = politeness.decreased_delay_s(standing.adaptive_s)
        standing.failures = standing.openings = 0
        standing.has_answered = 1
        standing.is_changed = True
