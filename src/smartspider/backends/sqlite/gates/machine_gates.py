"""The gates of hosts that all crawls of one user on a machine share: a small SQLite file beside their data
folders. See ADR 49.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import mmap
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw
import msgspec

from smartspider.backends.sqlite.file_systems import network_file_system
from smartspider.backends.sqlite.gates.claims import CLAIM_S, Alone, Claim, SeenGate
from smartspider.backends.sqlite.gates.crawl_lock import CrawlLock, crawl_lives
from smartspider.backends.sqlite.gates.gates_files import CHANGES, SQL, connect_gates, map_changes, sweep
from smartspider.core.frontier.verdict import PreviousSend
from smartspider.core.requests.domains import registrable_domain
from smartspider.core.requests.politeness import LEASE_AHEAD_S, WINDOW_MAX_S
from smartspider.interfaces.machine_clock import MachineClock
from smartspider.store.hosts.gates import Elsewhere, GateState

LOCKED = (apsw.BusyError, apsw.LockedError)

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Method = Callable[Concatenate["MachineGates", P], T]

REFRESH_S = CLAIM_S / 2
KEEP_S = 900.0
"""Time for which a gate is kept after its last slot: longer than any delay."""
BUSY_MS = 20
"""Time that a call may wait for another process, which holds the file for less than a millisecond."""
BUSY_S = LEASE_AHEAD_S + 0.05
"""Time for which a gate counts as closed while another process holds the file for longer."""
SEEN_S = 0.25
"""A crawl that was killed counts at the gates for this long."""
WAITS_S = 1.0
"""A crawl that asked for a slot waits for it so long, and a delay of the host longer, if it got none."""
ASKED_S = 0.2
"""A crawl that waits says so again after this time."""
TURN_S = 0.01
"""Time that a crawl leaves an open gate to each crawl that has waited longer."""
MAX_SEEN = 10_000
"""Hosts that are kept in memory."""


def _surviving(instead: Callable[..., T]) -> Callable[[Method[P, T]], Method[P, T]]:
    """Leave the shared gates if their file cannot be used any more, and return `instead` of the result; so
    do while other processes keep it locked.
    """

    def decorate(method: Method[P, T]) -> Method[P, T]:
        @wraps(method)
        def survive(gates: MachineGates, /, *args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return method(gates, *args, **kwargs)
            except LOCKED:
                pass
            except apsw.Error as error:
                gates.leave(error)
            return instead(gates, *args, **kwargs)

        return survive

    return decorate


def _own_gate(_gates: MachineGates, gate: GateState) -> GateState:
    return gate


def _closed_gate(gates: MachineGates, gate: GateState, _in_flight: int) -> GateState:
    return gates.closed(gate) if gates.open() else gate


def _needs_slot(gates: MachineGates, _host: str) -> bool:
    return not gates.open()


def _nothing(*_: object) -> None:
    return None


def _unknown(*_: object) -> PreviousSend | None:
    return None


class MachineGates:
    """1. A slot of a host is a delay after the last one that any crawl was granted; the longest delay that a
    living crawl asks for wins, as do the lowest limits and the longest hold.
    2. Nothing waits for a crawl that was killed longer than `SEEN_S`.
    3. Crawls that wait for a host get its slots in turn.
    4. Without a usable folder the gates of the data folder are the only ones.

    Changes are committed by `commit`, before those of the data folder: a crash leaves a slot unused, and
    never used twice. `shift` is by how much store time is ahead of the monotonic clock.
    """

    def __init__(
        self,
        folder: Path | None,
        crawl: str,
        clock: MachineClock,
        shift: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._folder = folder
        self._crawl = hashlib.blake2b(crawl.encode(), digest_size=12).hexdigest()
        self._clock = clock
        self._shift = shift
        self._connection: apsw.Connection | None = None
        self._lock: CrawlLock | None = None
        self._is_open = False
        self._seen: dict[str, SeenGate] = {}
        self._living: dict[str, tuple[float, bool]] = {}
        self._changes = mmap.mmap(-1, CHANGES)
        """Changes with every claim and hold: reading it costs next to nothing."""
        self._alone: dict[str, Alone] = {}
        self._free: dict[str, bytes] = {}
        self._has_changed = False
        self._prune_at = 0.0
        self.problem = ""
        """Why the folder cannot be used; empty if it can."""

    def open(self) -> bool:
        """Open the file on first use. Return whether there are gates beside those of the data folder."""
        if not self._is_open:
            self._is_open = True
            if self._folder is not None:
                try:
                    self._join(self._folder)
                except (OSError, apsw.Error) as error:
                    self.problem = f"{self._folder} cannot be used ({error})"
                    self._close()
        return self._connection is not None

    def _join(self, folder: Path) -> None:
        if not folder.is_absolute():
            raise OSError("the user has no home folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if kind := network_file_system(folder):
            raise OSError(f"it is on a network file system, {kind}")
        name = f"gates-{self._clock.boot()[:8]}"
        sweep(folder, name)
        self._lock = CrawlLock(self._lock_file(self._crawl))
        is_first = self._lock.join()
        self._changes = map_changes(folder / f"{name}.changes")
        self._connection = connect_gates(str(folder / f"{name}.db"))
        self._connection.execute("BEGIN IMMEDIATE")
        if is_first:
            self._connection.execute(SQL.drop_claims, (self._crawl,))
        self._connection.execute("COMMIT")
        self._connection.set_busy_timeout(BUSY_MS)

    def _lock_file(self, crawl: str) -> Path:
        return (self._folder or Path()) / f"{crawl}.lock"

    @_surviving(_own_gate)
    def see(self, gate: GateState) -> GateState:
        """Return the gate of a data folder, as strict as all crawls together ask."""
        if not self.open() or self._is_alone(gate):
            return gate
        return self._merged(gate, self._look(gate.host, gate.domain))

    @_surviving(_closed_gate)
    def claim(self, gate: GateState, in_flight: int) -> GateState:
        """Return the gate like `see`, after claiming what this crawl asks of it, in its turn.

        If a slot may begin soon, other crawls wait until `commit`.
        """
        if not self.open() or self._is_alone(gate):
            return gate
        now = self._clock.monotonic()
        seen = self._look(gate.host, gate.domain)
        merged = self._merged(gate, seen)
        is_near = merged.opens_at - self._shift() <= now + LEASE_AHEAD_S
        if not (is_near or _must_ask(seen, now)):
            return merged
        if not self._begin():
            return self.closed(merged) if is_near else merged
        seen = self._look(gate.host, gate.domain)
        if seen.own and not seen.siblings and gate.delay_s <= 0.0:
            in_flight = max(in_flight, seen.own.in_flight)
        self._put(gate, in_flight, seen)
        if not seen.siblings:
            return self._merged(gate, seen)
        if _must_ask(seen, now):
            self._write(gate.host, SQL.wait, (gate.domain, gate.host, self._crawl, now))
        return self._merged(gate, self._look(gate.host, gate.domain))

    @_surviving(_nothing)
    def reserve(self, gate: GateState, until: float | None, leases: int) -> None:
        """Store the end of the last slot that was granted, in store time (None: the host needs none), and how
        many more requests are in flight. The gate was claimed before.
        """
        if not self._in_transaction() or self._is_alone(gate):
            return
        now, changes = self._clock.monotonic(), self._changes[:]
        if until is not None:
            self._write(gate.host, SQL.reserve, (gate.host, until - self._shift()))
        elif not (seen := self._look(gate.host, gate.domain)).siblings:
            self._put(gate, gate.limit, seen)
            self._alone[gate.host] = Alone(changes, gate.limit, gate.per_domain, now + REFRESH_S)
            return
        self._write(gate.host, SQL.serve, (gate.domain, gate.host, self._crawl, now, leases))

    @_surviving(_nothing)
    def publish(self, gate: GateState, in_flight: int, *, is_idle: bool) -> None:
        """Store what this crawl asks of a gate, after something of it changed. It is idle if it has nothing
        in flight and nothing queued.
        """
        if not self.open() or (not is_idle and self._is_alone(gate)):
            return
        seen = self._look(gate.host, gate.domain)
        held_until = gate.held_until - self._shift()
        is_held = held_until > max(seen.held_until, self._clock.monotonic())
        if (is_held or self._differs(gate, in_flight, seen)) and self._begin():
            self._put(gate, in_flight, seen)
            if is_held:
                self._has_changed = True
                self._write(gate.host, SQL.hold, (gate.host, held_until, gate.hold_reason))

    @_surviving(_nothing)
    def resume(self, host: str) -> None:
        """End a hold that an operator ends."""
        if self.open() and self._begin():
            self._has_changed = True
            self._write(host, SQL.resume, (host,))

    @_surviving(_needs_slot)
    def is_free(self, host: str) -> bool:
        """Return whether a request may be sent without a slot: no crawl asks for a delay, and nothing holds
        the host.
        """
        changes = self._changes[:]
        if self._free.get(host) == changes or not self.open():
            return True
        seen = self._look(host)
        is_free = seen.delay_s <= 0.0 and seen.held_until <= self._clock.monotonic()
        if is_free:
            self._free[host] = changes
        return is_free

    @_surviving(_unknown)
    def record(self, host: str, at: float, delay_s: float) -> PreviousSend | None:
        """Record that a request is sent in its slot. Return the one before it if another crawl sent it."""
        if not self.open():
            return None
        before: list[tuple[Any, ...]]
        before = self._write(host, SQL.record, (host, at, delay_s, self._crawl)).fetchall()
        ((sent_at, sent_delay_s, sent_by),) = before
        return PreviousSend(sent_at, sent_delay_s) if sent_by not in {"", self._crawl} else None

    @_surviving(_nothing)
    def commit(self) -> None:
        """Commit the changes of this transaction and let other crawls continue."""
        if self._in_transaction():
            assert self._connection is not None  # noqa: S101 - it has a transaction
            self._connection.execute("COMMIT")
            if self._has_changed:
                self._has_changed = False
                self._changes[:] = os.urandom(CHANGES)

    def roll_back(self) -> None:
        """Undo the changes of this transaction."""
        if self._in_transaction():
            assert self._connection is not None  # noqa: S101 - it has a transaction
            self._connection.execute("ROLLBACK")
            self._has_changed = False
            self._seen.clear()
            self._alone.clear()

    def closed(self, gate: GateState) -> GateState:
        """Return the gate closed for a moment: another process keeps the file locked."""
        return msgspec.structs.replace(gate, held_until=self._clock.monotonic() + BUSY_S + self._shift())

    def leave(self, error: Exception) -> None:
        """Go on without the shared gates, after an error that waiting does not end."""
        self.problem = f"{self._folder} cannot be used ({error})"
        log.warning("gates.left: %s; crawls in other folders are not seen", self.problem)
        self._close()

    def close(self) -> None:
        """Leave the gates; the claims of the crawl end with its last process."""
        if self._connection is not None and self._lock is not None and self._lock.leave():
            with contextlib.suppress(apsw.Error):
                self._connection.execute(SQL.drop_claims, (self._crawl,))
        self._close()

    def _close(self) -> None:
        if self._lock is not None:
            self._lock.leave()
        if self._connection is not None:
            self._connection.close()
        self._lock = self._connection = None

    def _in_transaction(self) -> bool:
        return self._connection is not None and self._connection.in_transaction

    def _begin(self) -> bool:
        """Begin a transaction, unless there is one. Return False if another process keeps the file locked."""
        assert self._connection is not None  # noqa: S101 - it was opened
        if self._connection.in_transaction:
            return True
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except LOCKED:
            return False
        now = self._clock.monotonic()
        if now >= self._prune_at:
            self._prune_at = now + CLAIM_S
            self._connection.execute(SQL.prune_claims, (now - CLAIM_S,))
            self._connection.execute(SQL.prune_hosts, (now - KEEP_S,))
        return True

    def _write(self, host: str, sql: str, values: tuple[Any, ...]) -> apsw.Cursor:
        assert self._connection is not None  # noqa: S101 - it was opened
        self._seen.pop(host, None)
        return self._connection.execute(sql, values)

    def _is_alone(self, gate: GateState) -> bool:
        """Return whether no other crawl has asked for the host, and this one has no more to say about it."""
        alone = self._alone.get(gate.host)
        if (
            alone is not None
            and alone.changes == self._changes[:]
            and gate.delay_s <= 0.0
            and (gate.limit, gate.per_domain) == (alone.limit, alone.per_domain)
            and max(gate.held_until - self._shift(), 0.0) <= self._clock.monotonic() < alone.until
        ):
            return True
        self._alone.pop(gate.host, None)
        return False

    def _differs(self, gate: GateState, in_flight: int, seen: SeenGate) -> bool:
        own = seen.own
        if own is None:
            return True
        asked = (gate.delay_s, gate.limit, gate.per_domain, in_flight)
        known = (own.delay_s, own.per_host, own.per_domain, own.in_flight)
        return asked != known or own.used_at < self._clock.monotonic() - REFRESH_S

    def _put(self, gate: GateState, in_flight: int, seen: SeenGate) -> None:
        if not self._differs(gate, in_flight, seen):
            return
        now, before_s = self._clock.monotonic(), seen.own.delay_s if seen.own else 0.0
        asked = (gate.delay_s, gate.limit, gate.per_domain, in_flight)
        own = seen.own
        if own is None or (own.delay_s, own.per_host, own.per_domain) != asked[:3]:
            self._has_changed = True
        elif in_flight < own.in_flight and gate.delay_s <= 0.0:
            self._has_changed = True  # other workers of this crawl may rely on the higher number
        self._write(gate.host, SQL.put_claim, (gate.domain, gate.host, self._crawl, *asked, now))
        if gate.delay_s > max(before_s, seen.delay_s) and seen.others:
            # A crawl without a delay may be sending this very moment; its next request sees the claim.
            self._write(gate.host, SQL.reserve, (gate.host, now + WINDOW_MAX_S))

    def _merged(self, gate: GateState, seen: SeenGate) -> GateState:
        now, shift = self._clock.monotonic(), self._shift()
        if not seen.others and not seen.siblings and seen.sent_until <= 0.0 >= seen.held_until:
            return gate
        held_until = seen.held_until + shift
        served_at = seen.own.served_at if seen.own else 0.0
        since = now - WAITS_S - max(gate.delay_s, seen.delay_s)
        waiting = [one for one in seen.others if one.asked_at > since and one.served_at < served_at]
        per_domain = [one for one in (gate.per_domain, *(claim.per_domain for claim in seen.siblings)) if one]
        return msgspec.structs.replace(
            gate,
            sent_until=max(gate.sent_until, seen.sent_until + shift) + TURN_S * len(waiting),
            held_until=max(gate.held_until, held_until),
            hold_reason=seen.hold_reason if held_until > gate.held_until else gate.hold_reason,
            per_host=min([gate.per_host, *(claim.per_host for claim in seen.others)]),
            per_domain=min(per_domain, default=None),
            elsewhere=Elsewhere(
                delay_s=seen.delay_s,
                in_flight=sum(claim.in_flight for claim in seen.others),
                in_domain=sum(claim.in_flight for claim in seen.siblings),
                waiting=len(waiting),
            ),
        )

    def _look(self, host: str, domain: str | None = None) -> SeenGate:
        """Return the gate of a host, read again if another process changed the file or may have ended."""
        assert self._connection is not None  # noqa: S101 - it was opened
        connection, now = self._connection, self._clock.monotonic()
        version = connection.execute(SQL.version).get
        seen = self._seen.get(host)
        if seen is not None and seen.version == version and (not seen.siblings or now < seen.at + SEEN_S):
            return seen
        domain = registrable_domain(host) if domain is None else domain
        gate = connection.execute(SQL.host, (host,)).fetchone()
        claims = [Claim(*row) for row in connection.execute(SQL.claims, (domain, host, self._crawl))]
        others = [
            claim
            for claim in claims
            if claim.crawl != self._crawl and claim.expires_at >= now and self._lives(claim.crawl, now)
        ]
        seen = SeenGate(
            version,
            now,
            next((claim for claim in claims if claim.crawl == self._crawl), None),
            [claim for claim in others if claim.host == host],
            others,
            *(gate or ()),
        )
        if len(self._seen) >= MAX_SEEN:
            for known in (self._seen, self._alone, self._free):
                known.clear()
        self._seen[host] = seen
        return seen

    def _lives(self, crawl: str, now: float) -> bool:
        checked_at, lives = self._living.get(crawl, (float("-inf"), False))
        if now >= checked_at + SEEN_S:
            lives = crawl_lives(self._lock_file(crawl))
            self._living[crawl] = now, lives
        return lives


def _must_ask(seen: SeenGate, now: float) -> bool:
    """Return whether other crawls must learn that this one waits for a slot."""
    return bool(seen.others) and (seen.own is None or seen.own.asked_at < now - ASKED_S)
