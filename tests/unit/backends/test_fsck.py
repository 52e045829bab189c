"""fsck finds each kind of damage, mends what the rows can mend, and the run then goes on to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeVar

import pytest

from smartspider.backends.sqlite.database import SqliteConnection, SqliteDatabase
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import RejectedItem
from smartspider.core.requests.refusal import LeftOutLink, Refusal
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.database import Connection
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.contracts.actions import (
    begin,
    done,
    failed,
    record,
    settle,
    take,
    take_one,
    url,
    urls,
)
from smartspider_testing.contracts.ledger.item_dedup import gave

T = TypeVar("T")

ORPHAN = "INSERT INTO item SELECT (id << 40) + 900, (id << 40) + 900, '{}', NULL FROM run"

DAMAGE = {
    "a counter is wrong": ("counters", ["UPDATE run SET done = done + 3, total = total - 1"]),
    "the item counter is wrong": ("counters", ["UPDATE run SET items = 0"]),
    "an item has no page": ("items", [ORPHAN, "UPDATE run SET items = items + 1, next_item = 901"]),
    "an item belongs to an open page": (
        "items",
        ["UPDATE item SET url_id = (SELECT min(url_id) FROM queue)"],
    ),
    "a key stands for no item": ("keys", ["UPDATE item_key SET item_id = item_id + 99"]),
    "a key belongs to another run": ("keys", ["UPDATE item_key SET scope = 77"]),
    "a key belongs to another task": ("keys", ["UPDATE item_key SET scope = -2"]),
    "an item that goes has a key": ("items", ["UPDATE item SET url_id = (SELECT min(url_id) FROM queue)"]),
    "more rejects are kept than counted": ("counters", ["UPDATE run SET rejected = 0"]),
    "left-out links are miscounted": ("left_out", ["UPDATE left_out_count SET links = links + 2"]),
    "left-out links are not counted": ("left_out", ["DELETE FROM left_out_count"]),
    "left-out links are lost": ("left_out", ["DELETE FROM left_out"]),
    "a left-out link is a request": (
        "left_out",
        ["INSERT INTO left_out SELECT run_id, fingerprint, 'depth', 0, '', url, id FROM url LIMIT 1"],
    ),
    "a left-out link belongs to no run": ("left_out", ["UPDATE left_out SET run_id = 77"]),
    "rows would be numbered twice": ("numbers", ["UPDATE run SET next_url = 1, next_item = 1"]),
    "a closed page is queued": (
        "stale",
        [
            "INSERT INTO queue SELECT (SELECT id FROM lane), 0, id FROM url WHERE state = 'done'",
            "UPDATE lane SET queued = queued + 1",
        ],
    ),
    "an unknown page waits": ("stale", ["INSERT INTO later VALUES (77, 1, 0, 0)"]),
    "a closed page is leased": (
        "stale",
        ["INSERT INTO lease SELECT id, 99, run_id, host_id, 1, 1e12, 0 FROM url WHERE state = 'done'"],
    ),
    "a page is queued and waits": (
        "doubled",
        ["INSERT INTO later SELECT url_id, 1, 0, 0 FROM queue LIMIT 1"],
    ),
    "a page is queued and leased": (
        "doubled",
        [
            "INSERT INTO queue SELECT (SELECT id FROM lane), -9, url_id FROM lease",
            "UPDATE lane SET queued = queued + 1",
        ],
    ),
    "the queue is lost": ("lost", ["DELETE FROM queue", "UPDATE lane SET queued = 0"]),
    "what waits is lost": ("lost", ["DELETE FROM later"]),
    "a lease is lost": ("lost", ["DELETE FROM lease"]),
    "a lane counts too many": ("lanes", ["UPDATE lane SET queued = queued + 5"]),
    "a lane counts none": ("lanes", ["UPDATE lane SET queued = 0"]),
    "a lane has a wrong rank": ("lanes", ["UPDATE lane SET rank = 5"]),
    "an event is lost": ("events", ["DELETE FROM event WHERE number = 2"]),
    "the newest event is lost": ("events", ["DELETE FROM event WHERE number = 3"]),
    "an event would be numbered twice": ("events", ["UPDATE run SET next_event = 1"]),
    "events belong to no run": ("events", ["INSERT INTO event VALUES (99, 77, 1, 0, 'run.state', '{}')"]),
    "turned knobs cannot be read": ("tuning", ["UPDATE run SET tuning = x'7b', revision = 1"]),
    "the knobs of the task cannot be read": ("tuning", ['UPDATE run SET knobs = \'{"delay_s": "x"}\'']),
    "the whole frontier is lost": (
        "lost",
        ["DELETE FROM queue", "DELETE FROM lane", "DELETE FROM later", "DELETE FROM lease"],
    ),
}


async def _half_done(backend: SqliteBackend) -> tuple[Run, int]:
    """A run with one page done, one leased, one waiting and three queued."""
    dedup = ItemDedup(keys=(("n",),))
    run = await begin(backend, *urls(5), dedup=dedup)
    worker = await backend.frontier.join(WorkerRegistration("w"))
    first, second, _ = await take(backend, worker, run, want=3)
    refused = [LeftOutLink(url("private").fingerprint, url("private").url, Refusal("robots", "why"))]
    found: dict[str, Any] = {"children": [url("child")], "rejected": [RejectedItem("why", {})]}
    page = gave(first, dedup, {"n": 1}, **found, left_out=refused)
    await settle(backend, page, failed(second, delay_s=5.0))
    return run, worker


async def _damage(backend: SqliteBackend, statements: list[str]) -> None:
    def work(connection: Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    await backend.database.write(work)


async def _finish(backend: SqliteBackend, run: Run) -> Run:
    """Everything is taken back and crawled to the end."""
    await backend.reopen()
    await backend.frontier.reclaim()
    worker = await backend.frontier.join(WorkerRegistration("next"))
    for _ in range(20):
        await backend.clock.advance(100.0)
        await settle(backend, *(done(lease) for lease in await take(backend, worker, run)))
        await backend.frontier.reclaim()
    return await backend.store.finish(run.id)


async def test_a_run_half_done_has_no_findings(backend: SqliteBackend) -> None:
    run, _ = await _half_done(backend)
    assert await backend.store.fsck() == []
    assert await backend.store.fsck(repair=True) == []
    assert (await _finish(backend, run)).state == "completed"


@pytest.mark.parametrize("name", DAMAGE)
async def test_damage_is_found_and_mended(backend: SqliteBackend, name: str) -> None:
    code, statements = DAMAGE[name]
    run, _ = await _half_done(backend)
    await _damage(backend, statements)
    found = await backend.store.fsck()
    assert code in {finding.code for finding in found}
    assert not any(finding.is_repaired for finding in found)
    assert {finding.code for finding in await backend.store.fsck()} == {finding.code for finding in found}
    mended = await backend.store.fsck(repair=True)
    assert code in {finding.code for finding in mended}
    assert all(finding.is_repaired for finding in mended)
    assert await backend.store.fsck() == []
    run = await _finish(backend, run)
    assert (run.state, run.counters.done, run.counters.total) == ("completed", 6, 6)
    assert await backend.store.fsck() == []


async def test_a_finished_run_with_an_open_row_goes_back_to_paused(backend: SqliteBackend) -> None:
    run = await begin(backend, "one")
    worker = await backend.frontier.join(WorkerRegistration("w"))
    await settle(backend, done(await take_one(backend, worker, run)))
    await backend.store.finish(run.id)
    await _damage(backend, ["UPDATE url SET state = 'open'", "UPDATE run SET done = 0"])
    assert [finding.code for finding in await backend.store.fsck(repair=True)] == ["ended"]
    assert (await backend.store.get_run(run.id)).state == "paused"
    assert await backend.store.fsck() == []
    await backend.store.set_state(run.id, "running")
    assert len(await take(backend, worker, run)) == 1


async def test_what_is_held_of_a_deleted_run_is_no_damage(backend: SqliteBackend) -> None:
    run, worker = await begin(backend, *urls(3)), await backend.frontier.join(WorkerRegistration("w"))
    await take_one(backend, worker, run)
    await backend.store.set_state(run.id, "cancelled")
    await backend.store.delete_run(run.id)
    assert await backend.store.fsck() == []


async def test_a_cancelled_run_with_open_rows_stays_cancelled(backend: SqliteBackend) -> None:
    run = await begin(backend, *urls(3))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    await take_one(backend, worker, run)
    await _damage(backend, ["UPDATE run SET state = 'cancelled'"])
    assert [finding.code for finding in await backend.store.fsck(repair=True)] == ["ended"]
    run = await backend.store.get_run(run.id)
    assert (run.state, run.counters.skipped) == ("cancelled", 3)
    assert await backend.store.fsck() == []


async def test_a_damaged_page_of_the_file_is_told_and_not_touched(backend: SqliteBackend) -> None:
    await begin(backend, *urls(2000))
    backend.database.close()
    path = backend.folder / "smartspider.db"
    body = bytearray(path.read_bytes())
    place = len(body) * 3 // 4  # among the rows, behind the pages of the schema
    body[place : place + 3000] = b"\xff" * 3000
    path.write_bytes(bytes(body))
    backend.open()
    found = await backend.store.fsck(repair=True)
    assert {finding.code for finding in found} == {"damaged"}
    assert not any(finding.is_repaired for finding in found)


async def test_a_lost_row_offered_twice_at_once_is_queued_once(backend: SqliteBackend) -> None:
    run = await begin(backend, "one")
    row = await record(backend, run, "one")
    await _damage(backend, ["DELETE FROM queue", "UPDATE lane SET queued = 0"])
    assert await backend.frontier.offer(run.id, [row.id, row.id]) == 1
    assert await backend.store.fsck() == []


class Interrupted(SqliteDatabase):
    """A database whose process ends after one transaction."""

    has_written = False

    async def write(self, work: Callable[[SqliteConnection], T]) -> T:
        if self.has_written:
            raise KeyboardInterrupt
        self.has_written = True
        return await super().write(work)


@pytest.fixture
def interrupted(backend: SqliteBackend) -> Iterator[SqliteStore]:
    with closing(Interrupted(backend.folder, backend.clock)) as database:
        yield SqliteStore(database)


async def test_a_run_half_deleted_is_never_worked_on_and_can_be_deleted_again(
    backend: SqliteBackend, interrupted: SqliteStore
) -> None:
    run = await begin(backend, *urls(3))
    worker = await backend.frontier.join(WorkerRegistration("w"))
    await settle(backend, done(await take_one(backend, worker, run), items=[{"n": 1}]))
    await backend.store.set_state(run.id, "paused")
    with pytest.raises(KeyboardInterrupt):
        await interrupted.delete_run(run.id)
    assert (await backend.store.get_run(run.id)).state == "cancelled"
    await backend.store.delete_run(run.id)
    assert await backend.store.find_runs() == []
    assert await backend.store.fsck() == []


async def test_a_cancel_that_was_interrupted_goes_on(
    backend: SqliteBackend, interrupted: SqliteStore
) -> None:
    run = await begin(backend, *urls(3))
    with pytest.raises(KeyboardInterrupt):
        await interrupted.set_state(run.id, "cancelled")
    assert (await backend.store.get_run(run.id)).counters.open == 3
    assert (await backend.store.set_state(run.id, "cancelled")).counters.open == 0
