"""Several processes write at the same time: nothing is skipped, doubled or torn apart."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from smartspider.core.errors import LeadershipLost
from smartspider.core.logs import LogLine
from smartspider.store import audit, events
from smartspider.store.database import Connection, rows
from smartspider.store.logs import store
from smartspider.store.logs.terms import LogFilter
from smartspider.store.metrics import MetricKey, MetricStore
from smartspider.store.nodes import leadership
from smartspider.store.runs import lifecycle
from smartspider_testing.backends.postgres import PostgresBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import begin
from smartspider_testing.waiting import WAIT_S

WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)

OTHERWISE_ORDERED = """
SELECT a.attrelid::regclass::text, a.attname FROM pg_index i
JOIN pg_class t ON t.oid = i.indrelid AND t.relnamespace = 'smartspider'::regnamespace
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
JOIN pg_collation c ON c.oid = a.attcollation AND c.collname <> 'C'
JOIN pg_type k ON k.oid = a.atttypid AND k.typname = 'text'
"""


@asynccontextmanager
async def halfway(backend: PostgresBackend, work: Callable[[Connection], None]) -> AsyncIterator[None]:
    """Somebody has done `work` and is about to commit it; they do when the block is left."""
    reached, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def waiting(connection: Connection) -> None:
        work(connection)
        connection.changes()  # it is carried out by now
        loop.call_soon_threadsafe(reached.set)
        assert go_on.wait(WAIT_S)

    call = asyncio.create_task(backend.database.write_concurrently(waiting))
    await reached.wait()
    try:
        yield
    finally:
        go_on.set()
        await call


async def until_waiting(backend: PostgresBackend, count: int = 1) -> None:
    """So many wait for a lock."""
    async with asyncio.timeout(WAIT_S):
        while True:
            ((waiting,),) = await backend.database.read(lambda db: rows(db, WAITING))
            if waiting >= count:
                return
            await asyncio.sleep(0.005)


async def test_ids_of_events_are_given_by_the_commit(backend: PostgresBackend) -> None:
    """A reader that continues from the newest id misses none that was written earlier, committed later."""
    made = [await begin(backend, "one"), await begin(backend, "two", name="other")]
    before = await backend.events.last_id()

    def told(number: int) -> Callable[[Connection], None]:
        return lambda db: events.write(db, made[number].id, "thing.done", {"n": number}, 1.0)

    async with halfway(backend, told(0)):
        await backend.database.write_concurrently(told(1))
        (early,) = await backend.events.since(before)
        assert (early.run_id, early.id, await backend.events.last_id()) == (
            made[1].id,
            before + 1,
            before + 1,
        )
    (late,) = await backend.events.since(early.id)
    assert (late.run_id, late.id) == (made[0].id, before + 2)


async def test_a_reader_misses_no_event_of_many_writers(backend: PostgresBackend) -> None:
    """Event feed 1: in the order of the run, whoever commits between."""
    writers = [backend, await backend.another(), await backend.another()]
    made = [await begin(backend, "one", name=f"task {number}") for number in range(3)]
    last = await backend.events.last_id()
    seen: list[tuple[int, int]] = []

    async def follow() -> None:
        nonlocal last
        while len(seen) < 90:
            found = await backend.events.since(last, limit=7)
            seen.extend((event.run_id, event.number) for event in found)
            last = found[-1].id if found else last

    async def write(number: int) -> None:
        for turn in range(15):
            run = made[(number + turn) % 3]

            def told(db: Connection, run_id: int = run.id) -> None:
                events.write(db, run_id, "thing.begun", {}, 1.0)
                events.write(db, run_id, "thing.done", {}, 1.0)

            await writers[number].database.write_concurrently(told)

    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(follow(), *(write(number) for number in range(3)))
    for run in made:
        assert [number for run_id, number in seen if run_id == run.id] == list(range(3, 33))


async def test_a_tail_of_the_log_skips_no_line(backend: PostgresBackend) -> None:
    writers = [backend, await backend.another(), await backend.another()]
    seen: list[str] = []
    at = 0

    async def follow() -> None:
        nonlocal at
        while len(seen) < 90:
            page = await backend.logs.after(LogFilter(), after=at, limit=100)
            seen.extend(one.line.text for one in page.lines)
            at = page.next or at

    async def write(number: int) -> None:
        for turn in range(10):
            lines = [LogLine(backend.clock.now(), 20, "a.b", f"{number} {turn} {part}") for part in range(3)]
            await writers[number].logs.add(lines)

    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(follow(), *(write(number) for number in range(3)))
    assert len(seen) == len(set(seen)) == 90
    for number in range(3):
        mine = [text for text in seen if text.startswith(f"{number} ")]
        assert mine == [f"{number} {turn} {part}" for turn in range(10) for part in range(3)]


async def test_a_number_of_the_log_counts_when_it_can_be_read(backend: PostgresBackend) -> None:
    early = (backend.clock.now(), 20, "a.b", None, None, "", None, None, None, "early", "{}", "early")
    async with halfway(backend, lambda db: db.executemany(store.SQL.add, [early]).close()):
        assert await backend.logs.last_id() == 0
        second = asyncio.create_task(backend.logs.add([LogLine(backend.clock.now(), 20, "a.b", "late")]))
        await until_waiting(backend)
        assert (await backend.logs.after(LogFilter(), after=0)).next == 0
    await second
    page = await backend.logs.after(LogFilter(), after=0)
    assert [one.line.text for one in page.lines] == ["early", "late"]
    assert await backend.logs.last_id() == 2


async def test_the_audit_is_one_chain_whoever_writes_it(backend: PostgresBackend) -> None:
    behind = PostgresBackend(backend.url, ManualClock(backend.clock.now() - 0.5))
    others = [backend, behind, await backend.another(), await backend.another()]

    async def write(each: PostgresBackend) -> None:
        """Beside others, as part of something else."""
        now = each.database.now()
        await each.database.write_concurrently(
            lambda db: audit.write(db, now, "ann", "thing.done", "thing:1")
        )

    await asyncio.gather(*(write(each) for each in others * 10))
    await behind.close()
    check = await backend.audit.verify()
    assert (check.broken, check.head.id) == (None, 40)
    moments = [entry.at for entry in await backend.audit.entries()]
    assert all(later >= earlier for later, earlier in pairwise(moments))


async def test_who_leads_may_prolong_while_a_write_of_theirs_takes_long(backend: PostgresBackend) -> None:
    """Leadership 4: and nobody takes over in the middle of it."""
    term = await backend.leadership.take("one", 10.0)
    assert term is not None
    async with halfway(backend, lambda db: leadership.check(db, term.epoch)):
        async with asyncio.timeout(WAIT_S):
            again = await backend.leadership.take("one", 20.0)
        assert again is not None
        assert again.epoch == term.epoch
        await backend.clock.advance(30.0)
        taking = asyncio.create_task(backend.leadership.take("two", 10.0))
        await until_waiting(backend)
        assert not taking.done()
    other = await taking
    assert other is not None
    assert other.epoch == term.epoch + 1
    with pytest.raises(LeadershipLost):
        await backend.database.write(lambda db: leadership.check(db, term.epoch))


async def test_a_write_of_an_old_leader_waits_for_the_new_one_and_is_refused(
    backend: PostgresBackend,
) -> None:
    await backend.leadership.take("one", 10.0)
    taken = leadership.SQL.take
    async with halfway(backend, lambda db: db.execute(taken, ("two", 1e12)).close()):
        late = asyncio.create_task(backend.schedules.postpone(1, 5.0, epoch=1))
        await until_waiting(backend)
    with pytest.raises(LeadershipLost):
        await late


async def test_sums_are_added_at_once_and_never_too_many(backend: PostgresBackend) -> None:
    """Metric store 1, 2."""
    others = [backend, await backend.another(), await backend.another()]
    stores = [MetricStore(each.database, max_keys=12) for each in others]
    shared: dict[MetricKey, float] = {("shared", (("number", str(number)),)): 1.0 for number in range(5)}

    async def add(number: int, store: MetricStore) -> None:
        own: dict[MetricKey, float] = {(f"own {number}", (("number", str(part)),)): 1.0 for part in range(5)}
        await store.add(shared | own if number % 2 else own | shared)
        await asyncio.gather(*(store.add(shared) for _ in range(10)))

    await asyncio.gather(*(add(number, store) for number, store in enumerate(stores)))
    sums = await backend.metrics.sums()
    assert len(sums) == 12
    assert {key: sums[key] for key in shared} == dict.fromkeys(shared, 33.0)


async def test_lines_that_come_while_their_run_is_deleted_are_gone_with_it(backend: PostgresBackend) -> None:
    """Log store 6."""
    run = await begin(backend, "one")
    await backend.store.set_state(run.id, "cancelled", "enough")
    line = LogLine(backend.clock.now(), 20, "a.b", "late", run_id=run.id)

    async def delete_some() -> bool:
        return await backend.database.write(lambda db: lifecycle.delete_step(db, run.id))

    left = "SELECT 1 FROM url UNION ALL SELECT 1 FROM event UNION ALL SELECT 1 FROM run_point"
    while await backend.database.read(lambda db: rows(db, left)):
        await delete_some()
    async with halfway(backend, lambda db: store.write(db, [line], backend.clock.now())):
        deleting = asyncio.create_task(delete_some())  # there is nothing else left of the run
        await until_waiting(backend)
    assert not await deleting
    await backend.logs.add([line])
    assert (await backend.logs.before(LogFilter(run_id=run.id))).lines == []
    assert await backend.logs.size() == 0


async def test_keys_are_in_the_order_of_their_bytes_whatever_the_language(backend: PostgresBackend) -> None:
    """Pages of names go by that order, as in a file."""
    found = await backend.database.read(lambda db: rows(db, OTHERWISE_ORDERED))
    assert found == []
