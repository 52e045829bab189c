"""Parts of a data folder change: no other rows are exported, and `fsck` names what is damaged."""

from __future__ import annotations

from contextlib import closing
from itertools import combinations
from pathlib import Path

import apsw
import pytest

from smartspider.backends.sqlite.database import FILE, SqliteDatabase
from smartspider.backends.sqlite.store import SqliteStore
from smartspider.core.errors import StoreUnavailable
from smartspider.core.runs.run import Run, first_id
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.results.rows import RowQuery
from smartspider.store.results.store import ResultStore
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import begin, done, settle, take_one

TEXT = "a value that is found in the file, with an umlaut: \u00fc"
BEFORE = 19
"""Bytes of the row before its text: its length, its id, the types of its columns, the page."""


@pytest.fixture
async def run(tmp_path: Path) -> Run:
    backend = SqliteBackend(tmp_path / "good", ManualClock())
    run = await begin(backend, "one")
    lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
    await settle(backend, done(lease, items=[{"n": 1}, {"text": TEXT}, {"n": 3}]))
    await backend.close()
    return run


def row_bytes(file: bytes) -> range:
    """The bytes of the second row and of its checksum, which follows the text."""
    data = f'{{"text":"{TEXT}"}}'.encode()
    place = file.index(data)
    assert file.count(data) == 1
    return range(place - BEFORE, place + len(data) + 4)


async def exported(database: SqliteDatabase, run: Run) -> list[bytes]:
    found = [item.data async for batch in SqliteStore(database).items(run.id) for item in batch]
    page = await ResultStore(database).rows(RowQuery(run.id))
    assert [item.data for item in page.rows] == found
    return found


async def test_no_flipped_bit_of_a_row_goes_unseen(tmp_path: Path, run: Run) -> None:
    good = (tmp_path / "good" / FILE).read_bytes()
    with closing(SqliteDatabase(tmp_path / "good", ManualClock())) as database:
        rows = await exported(database, run)
        assert await SqliteStore(database).fsck() == []
    folder = tmp_path / "bad"
    folder.mkdir()
    named = 0
    for number, place in enumerate(row_bytes(good)):
        bad = bytearray(good)
        bad[place] ^= 1 << number % 8
        (folder / FILE).write_bytes(bad)
        try:
            with closing(SqliteDatabase(folder, ManualClock())) as database:
                findings = await SqliteStore(database).fsck(repair=False)
                assert not any(finding.is_repaired for finding in findings)
                named += f"item {first_id(run.id) + 2} of run {run.id}" in "".join(
                    one.message for one in findings
                )
                found = await exported(database, run)
                assert found == rows or (findings and set(found) <= set(rows)), f"byte {place}"
        except StoreUnavailable as error:
            assert error.hint  # noqa: PT017 - either nothing is exported, or no changed row
    assert named > len(TEXT)


async def many_rows(folder: Path, count: int) -> Run:
    backend = SqliteBackend(folder, ManualClock())
    run = await begin(backend, "one")
    lease = await take_one(backend, await backend.frontier.join(WorkerRegistration("w")), run)
    await settle(backend, done(lease, items=[{"n": number, "text": TEXT} for number in range(count)]))
    await backend.close()
    return run


def leaves(folder: Path) -> list[int]:
    """The pages that hold the rows, in their order."""
    with closing(apsw.Connection(str(folder / FILE))) as connection:
        sql = "SELECT pageno FROM dbstat WHERE name = 'item' AND pagetype = 'leaf' ORDER BY path"
        return [number for (number,) in connection.execute(sql)]


async def test_rows_of_exchanged_pages_are_refused(tmp_path: Path) -> None:
    run = await many_rows(tmp_path, 4_500)
    good, found = (tmp_path / FILE).read_bytes(), leaves(tmp_path)
    size = len(good) // (int.from_bytes(good[28:32]) or 1)
    ends = [0, 1, len(found) // 2, len(found) * 4 // 9, len(found) * 4 // 9 + 1, len(found) - 1]
    for pair in combinations(ends, 2):
        one, other = (slice((found[at] - 1) * size, found[at] * size) for at in pair)
        bad = bytearray(good)
        bad[one], bad[other] = good[other], good[one]
        (tmp_path / FILE).write_bytes(bad)
        with (
            closing(SqliteDatabase(tmp_path, ManualClock())) as database,
            pytest.raises(StoreUnavailable, match=f"run {run.id} is damaged"),
        ):
            [batch async for batch in SqliteStore(database).items(run.id)]


async def test_a_run_with_another_number_of_rows_than_it_stored_is_refused(tmp_path: Path) -> None:
    run = await many_rows(tmp_path, 30)
    with closing(SqliteDatabase(tmp_path, ManualClock())) as database:
        store = SqliteStore(database)
        await database.write(
            lambda connection: connection.execute("DELETE FROM item WHERE id > ?", (first_id(run.id) + 20,))
        )
        with pytest.raises(
            StoreUnavailable, match=f"run {run.id} is damaged: it stored 30 rows, and 20 can be read"
        ):
            [batch async for batch in store.items(run.id)]
        after = [len(batch) async for batch in store.items(run.id, first_id(run.id) + 5)]
        assert after == [15], "rows after a position are not all rows"
