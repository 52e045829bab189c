"""A data folder of version 1, as 0.1 wrote it, becomes one of version 2 and goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.migrations import APPLICATION_ID, MIGRATIONS, prepare
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.store.audit import AuditFilter
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.clock import ManualClock
from smartspider_testing.contracts.actions import items, numbers, settle, take, url
from smartspider_testing.contracts.ledger.item_dedup import gave, pages

RUN = 3
ROW = RUN << 40
OLD_ROWS = f"""
INSERT INTO run (id, task_name, spec, spec_hash, state, created_at, weight, concurrency, delay_s, per_host,
    adaptive, guard_after, guard_pauses, next_url, next_item, total, done, items, rejected)
VALUES ({RUN}, 'task', '{{}}', 'hash', 'running', 1.0, 1, 64, 0.0, 64, 1, 20, 1, 3, 2, 2, 1, 1, 7);
INSERT INTO host (id, name, domain) VALUES (1, 'a.example', 'a.example');
INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, state, items,
    found_at, closed_at)
VALUES ({ROW + 1}, {RUN}, x'01', 1, 'http://a.example/old', 'default', 0, 0, 1, 'done', 1, 1.0, 2.0);
INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, found_at)
VALUES ({ROW + 2}, {RUN}, x'02', 1, 'http://a.example/open', 'default', 0, 0, 1, 1.0);
INSERT INTO item VALUES ({ROW + 1}, {ROW + 1}, '{{"id":1}}');
INSERT INTO lane (id, run_id, host_id, queued) VALUES (1, {RUN}, 1, 1);
INSERT INTO queue VALUES (1, 0, {ROW + 2});
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    connection = apsw.Connection(str(tmp_path / FILE))
    connection.execute(Path(__file__).with_name("schema_1.sql").read_text(encoding="utf-8"))
    connection.execute(OLD_ROWS)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    return tmp_path


TABLE = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)'
INDEX = "SELECT seqno, name FROM pragma_index_info(?)"


def _shape(folder: Path) -> dict[str, Any]:
    """Tables with their columns (in whatever order), and indexes."""
    connection = apsw.Connection(str(folder / FILE))
    try:
        shape: dict[str, Any] = {}
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall():
            columns = connection.execute(TABLE if kind == "table" else INDEX, (name,)).fetchall()
            shape[str(name)] = ("WITHOUT ROWID" in str(sql), sorted(map(str, columns)))
        return shape
    finally:
        connection.close()


def test_a_migrated_folder_has_the_shape_of_a_new_one(old: Path, tmp_path: Path) -> None:
    prepare(old)
    prepare(tmp_path / "new")
    assert _shape(old) == _shape(tmp_path / "new")
    assert set(MIGRATIONS) == {1, 2, 3}


def test_the_old_folder_is_copied_first(old: Path) -> None:
    prepare(old)
    copy = apsw.Connection(str(old / "smartspider.before-format-2.db"))
    assert copy.pragma("user_version") == 1
    assert copy.execute("SELECT count(*) FROM item").get == 1
    copy.close()


async def test_an_old_run_goes_on_to_its_end(old: Path) -> None:
    backend = SqliteBackend(old, ManualClock())
    run = await backend.store.get_run(RUN)
    assert (run.counters.items, run.counters.rejected, run.counters.updated) == (1, 7, 0)
    assert await backend.store.fsck() == []
    (lease,) = await take(backend, await backend.frontier.join(WorkerRegistration("w")), run)
    await settle(backend, gave(lease, ItemDedup(), {"id": 1}, then=(url("next"),)))
    assert [item["id"] for item in await items(backend, run)] == [1, 1]
    await backend.close()


async def test_items_of_before_are_not_recognised(old: Path) -> None:
    backend = SqliteBackend(old, ManualClock())
    dedup = ItemDedup(keys=(("id",),), scope="task")
    run, (lease, *_) = await pages(backend, dedup, 1)
    await settle(backend, gave(lease, dedup, {"id": 1}, {"id": 1}))
    assert await numbers(backend, run) == (1, 1, 0)
    assert await backend.store.fsck() == []
    await backend.close()


MORE_RUNS = """
INSERT INTO run (id, task_name, spec, spec_hash, state, created_at, weight, concurrency, delay_s, per_host,
    adaptive, guard_after, guard_pauses)
SELECT column1, column2, CAST(column3 AS BLOB), column4, 'cancelled', column5, 1, 1, 0.0, 1, 1, 1, 1
FROM (VALUES (4, 'shop', '{"n":1}', 'one', 5.0), (5, 'other', '{"n":1}', 'one', 6.0),
    (6, 'shop', '{"n":1}', 'one', 7.0), (7, 'shop', '{"n":2}', 'two', 8.0),
    (8, 'shop', '{"n":1}', 'one', 9.0));
INSERT INTO audit (at, run_id, what) VALUES (5.0, 4, 'robots.txt is ignored'), (8.0, 7, 'no delay');
"""


@pytest.fixture
def older(old: Path) -> Path:
    connection = apsw.Connection(str(old / FILE))
    connection.execute(MORE_RUNS)
    connection.close()
    return old


async def test_old_runs_get_the_versions_their_tasks_had(older: Path) -> None:
    backend = SqliteBackend(older, ManualClock())
    tasks = {task.name: task for task in await backend.tasks.find()}
    assert {name: (task.version, task.created_at, task.updated_at) for name, task in tasks.items()} == {
        "task": (1, 1.0, 1.0),
        "shop": (3, 5.0, 9.0),
        "other": (1, 6.0, 6.0),
    }
    runs = {run.id: run for run in await backend.store.find_runs()}
    assert {number: run.task_version for number, run in runs.items()} == {3: 1, 4: 1, 5: 1, 6: 1, 7: 2, 8: 3}
    for run in runs.values():
        version = await backend.tasks.version(run.task_id, run.task_version)
        assert (version.spec, version.spec_hash) == (run.spec, run.spec_hash)
        assert run.task_id == tasks[run.task_name].id
    assert await backend.store.fsck() == []
    await backend.close()


async def test_old_notes_are_the_beginning_of_the_chain(older: Path) -> None:
    backend = SqliteBackend(older, ManualClock())
    await backend.audit.append("ann", "thing.done", "thing:1", {})
    assert ((await backend.audit.verify()).head.id, (await backend.audit.verify()).broken) == (3, None)
    notes = await backend.audit.entries(AuditFilter(action="politeness.overridden"))
    assert [(one.at, one.actor, one.subject, one.detail) for one in notes] == [
        (8.0, "format 1", "run:7", b'{"what":"no delay"}'),
        (5.0, "format 1", "run:4", b'{"what":"robots.txt is ignored"}'),
    ]
    await backend.close()
