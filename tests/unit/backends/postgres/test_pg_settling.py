"""Settling on PostgreSQL: how often it waits, and what happens beside others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
import pytest
from tests.unit.backends.postgres.leases import leases, started

from smartspider.backends.postgres.database import PostgresDatabase
from smartspider.backends.postgres.ledger import PostgresLedger
from smartspider.core import failpoints
from smartspider.core.frontier.lease import Lease
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.runs.plan import RunLimits
from smartspider.store.database import Connection, rows
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.contracts.actions import closed, done, failed, plan_of, url, urls
from smartspider_testing.servers import PostgresServer, TcpProxy


class Traffic:
    """What was sent, and how often somebody had to wait for an answer."""

    def __init__(self) -> None:
        self.statements = 0
        self.waits = 0


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traffic]:
    """Count while this lasts, in the driver, which everything passes."""
    traffic = Traffic()
    execute = psycopg.Cursor.execute

    def carried(self: psycopg.Cursor[Any], *statement: Any, **options: Any) -> psycopg.Cursor[Any]:
        traffic.statements += 1
        return execute(self, *statement, **options)

    def waiting(name: str) -> Any:
        read = getattr(psycopg.Cursor, name)

        def do(self: psycopg.Cursor[Any]) -> Any:
            traffic.waits += self.pgresult is None
            return read(self)

        return do

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", carried)
        for name in ("fetchone", "fetchall", "__iter__"):
            patch.setattr(psycopg.Cursor, name, waiting(name))
        yield traffic


def page(lease: Lease, number: int) -> Settlement:
    """An ordinary page: items, a new link, a link that others have as well."""
    links = (url(f"new{number}"), url("shared"), url("new-host", host="b.example"))
    return done(lease, *links, items=[{"n": number}, {"m": number}], bytes_read=5, elapsed_s=0.1)


@pytest.fixture
async def another(backend: PostgresBackend) -> PostgresDatabase:
    """A second process."""
    return (await backend.another()).database


async def test_a_group_waits_for_the_server_three_times_at_most(
    backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for what must be known, once for its end; statements do not grow with the pages."""
    run = await started(backend, plan_of(*urls(48)))
    held = await leases(backend.database, run)
    ledger = PostgresLedger(backend.database)
    await ledger.settle([page(lease, number) for number, lease in enumerate(held[:4])], None)
    seen = []
    for group in (held[4:8], held[8:48]):
        with counted(monkeypatch) as traffic:
            report, moves = await ledger.settle(
                [page(lease, lease.url_id) for lease in group], {lease.token for lease in group}
            )
        assert (report.closed, report.items, len(moves.offered)) == (len(group), 2 * len(group), len(group))
        assert traffic.waits + 1 <= 3
        seen.append(traffic.statements)
    assert seen[0] == seen[1]


async def test_failures_and_compared_items_take_no_statement_each(
    backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where more must be known: keys, items they stand for, attempts."""
    dedup = ItemDedup(keys=(("sku",),), keep="last")
    run = await started(backend, plan_of(*urls(60), dedup=dedup))
    held = await leases(backend.database, run)
    ledger = PostgresLedger(backend.database)

    def mixed(lease: Lease) -> Settlement:
        number = lease.url_id % 1000
        if number % 3 == 0:
            return failed(lease)
        if number % 3 == 1:
            return closed(lease, "dead", "gone")
        item = {"sku": number % 5, "n": number}
        return Settlement(
            lease,
            Close("done", status=200, items=[item], keys=[(b"%d" % (number % 5),)], children=urls(3, "c")),
        )

    await ledger.settle([mixed(lease) for lease in held[:12]], None)
    seen = []
    for group in (held[12:24], held[24:60]):
        with counted(monkeypatch) as traffic:
            await ledger.settle([mixed(lease) for lease in group], None)
        seen.append((traffic.statements, traffic.waits))
    assert seen[0] == seen[1]
    assert await backend.store.fsck() == []


@pytest.fixture
def slow_commit() -> Iterator[None]:
    """Whoever is about to commit first waits until another has decided, or cannot for now."""
    decided = threading.Event()
    first: list[int] = []

    def on_reach(name: str) -> None:
        me = threading.get_ident()
        if name == "settle.decided" and first and first[0] != me:
            decided.set()
        if name == "settle.before_commit" and not first:
            first.append(me)
            decided.wait(0.3)

    failpoints.arm(on_reach)
    yield
    failpoints.arm(None)


@pytest.mark.usefixtures("slow_commit")
async def test_a_limit_is_exact_when_two_workers_settle_at_once(
    backend: PostgresBackend, another: PostgresDatabase
) -> None:
    """Ledger 6: the run's row is locked."""
    run = await started(backend, plan_of(*urls(24), limits=RunLimits(max_pages=7)))
    held = await leases(backend.database, run)
    ledgers = PostgresLedger(backend.database), PostgresLedger(another)
    groups = [
        [done(lease, items=[{"n": 1}]) for lease in held[start : start + 4]] for start in range(0, 24, 4)
    ]
    await asyncio.gather(*(ledgers[place % 2].settle(group, None) for place, group in enumerate(groups)))
    counters = (await backend.store.get_run(run.id)).counters
    assert (counters.done, counters.skipped, counters.items) == (7, 17, 7)
    assert await backend.store.fsck() == []


async def test_runs_that_meet_at_hosts_do_not_lock_each_other_out(
    backend: PostgresBackend, another: PostgresDatabase
) -> None:
    """Rule 12: hosts are locked in one order, whatever the order of the pages."""
    hosts = [f"h{number}.example" for number in range(8)]
    entries = [url("x", host=host) for host in hosts]
    first, second = [await started(backend, plan_of(*entries, name=name)) for name in ("one", "two")]
    ledgers = PostgresLedger(backend.database), PostgresLedger(another)

    async def fail_all(ledger: PostgresLedger, held: list[Lease]) -> None:
        for attempts in range(5):
            handed = [msgspec.structs.replace(lease, attempts=attempts) for lease in held]
            await ledger.settle([failed(lease) for lease in handed], None)

    own, others = await leases(backend.database, first), await leases(another, second)
    await asyncio.gather(fail_all(ledgers[0], own), fail_all(ledgers[1], others[::-1]))
    for run in (first, second):
        assert (await backend.store.get_run(run.id)).counters.retries == 40


async def test_a_commit_without_an_answer_is_settled_once(
    postgres_server: PostgresServer, backend: PostgresBackend
) -> None:
    """Rule 12: it was kept, nobody heard it, and settling again adds nothing."""
    run = await started(backend)
    (held,) = await leases(backend.database, run)
    with TcpProxy("127.0.0.1", postgres_server.port) as proxy:
        address = backend.url.replace(f":{postgres_server.port}/", f":{proxy.url_port}/")
        database = PostgresDatabase(address, backend.clock, backend.times)
        await database.read(lambda connection: rows(connection, "SELECT 1"))
        sprung = proxy.drop_answer_once(b"COMMIT")
        settling = PostgresLedger(database).settle([done(held, url("child"), items=[{"n": 1}])], None)
        report, moves = await settling
        assert sprung.is_set()
        database.close()
    assert (report.late, [place.url_id for place in moves.offered]) == (1, [held.url_id + 1])
    counters = (await backend.store.get_run(run.id)).counters
    assert (counters.done, counters.items, counters.total) == (1, 1, 2)


@pytest.mark.parametrize("bad", ["zero \0 byte", "lone \ud800"])
async def test_a_host_that_was_rolled_back_is_not_known(backend: PostgresBackend, bad: str) -> None:
    """A group that is halved makes the hosts of its pages again."""
    run = await started(backend, plan_of(*urls(4)))
    held = await leases(backend.database, run)
    settlements = [done(lease, url("x", host=f"new{lease.url_id}.example")) for lease in held]
    settlements[2] = closed(held[2], "dead", bad)
    report, _ = await PostgresLedger(backend.database).settle(settlements, None)
    assert report.closed == 4

    def strays(connection: Connection) -> list[Any]:
        return rows(connection, "SELECT 1 FROM url LEFT JOIN host h ON h.id = url.host_id WHERE h.id IS NULL")

    assert await backend.database.read(strays) == []
    (broken,) = await backend.store.failures(run.id)
    assert (broken.state, broken.reason[:13]) == ("broken", "not storable:")


async def test_an_error_of_one_transaction_does_not_hinder_the_next_ones(backend: PostgresBackend) -> None:
    """What the driver thinks is prepared is."""
    run = await started(backend, plan_of(*urls(60)))
    held = await leases(backend.database, run)
    ledger = PostgresLedger(backend.database)
    for number, lease in enumerate(held):
        bad = number % 2 == 1
        await ledger.settle([closed(lease, "dead", "\0") if bad else page(lease, number)], None)
    counters = (await backend.store.get_run(run.id)).counters
    assert (counters.done, counters.broken) == (30, 30)


async def test_nothing_is_counted_for_who_lost_his_lease(backend: PostgresBackend) -> None:
    """Ledger 2: the frontier said who holds what."""
    run = await started(backend, plan_of(*urls(2)))
    own, lost = await leases(backend.database, run)
    report, moves = await PostgresLedger(backend.database).settle([failed(own), failed(lost)], {own.token})
    assert report.late == 1
    assert [lease.url_id for lease, _ in moves.postponed] == [own.url_id]
    assert (await backend.store.get_run(run.id)).counters.retries == 1


async def test_a_failure_that_is_told_twice_counts_once(backend: PostgresBackend) -> None:
    """As after a commit whose answer was lost: the request waits as it would have, one attempt is gone."""
    run = await started(backend)
    (lease,) = await leases(backend.database, run)
    ledger = PostgresLedger(backend.database)
    told = [await ledger.settle([failed(lease)], {lease.token}) for _ in range(2)]
    assert [len(moves.postponed) for _, moves in told] == [1, 1]
    assert [report.late for report, _ in told] == [0, 1]
    (again,) = await leases(backend.database, run)
    assert again.attempts == 1
    await ledger.settle([failed(again)], {again.token})
    (last,) = await leases(backend.database, run)
    assert last.attempts == 2
