"""Migration of a data folder to a cluster: complete despite interruptions, and only one side is ever open."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from smartspider.backends.postgres.folder_import import FolderImport
from smartspider.backends.postgres.schema import prepare as prepare_store
from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.folder_export import EXTRA, NOT_EXPORTED, SINGLE, TABLES, FolderExport
from smartspider.core import failpoints
from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.core.logs import LogLine
from smartspider.installation.settings import Settings
from smartspider.store.logs.terms import LogFilter
from smartspider.store.positions import NOTIFICATIONS, StoredPosition
from smartspider.wiring import migration
from smartspider.wiring.cluster import open_cluster
from smartspider.wiring.migration_checks import MigrationRequest
from smartspider.wiring.opening import check_not_moved, open_folder
from smartspider_testing.servers import PostgresServer, RedisServer
from smartspider_testing.waiting import WAIT_S

ROWS = 12
MANY = {"url": 5_200}
"""More than are moved at once."""
AUDITED = 3


class Broken(BaseException):
    """Nobody is prepared for this, as for a kill."""


def quiet(_table: str, _rows: int, _total: int) -> None:
    """Says nothing."""


def execute(folder: Path, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(folder / FILE))
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def fill(folder: Path) -> None:
    """Rows in every table, no two values alike."""
    connection = apsw.Connection(str(folder / FILE))
    with connection:
        for table in TABLES:
            if table.name == "audit":
                continue
            columns = connection.execute(f"PRAGMA table_info({table.name})").fetchall()
            marks = ", ".join("?" * len(columns))
            first = 2 if table.name == "log" else 1
            rows = [
                [value(str(kind), number, place) for place, (_, _, kind, *_) in enumerate(columns)]
                for number in range(first, first + MANY.get(table.name, ROWS))
            ]
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)
        connection.execute("UPDATE url SET state = 'open' WHERE id <= 5; UPDATE run SET state = 'running'")
        connection.execute("UPDATE schedule SET is_of_task = 0")
        connection.execute("INSERT INTO later VALUES (2, 3, 5000000000.5, 0)")
        connection.execute("INSERT INTO meta VALUES ('notifications', 7)")
    connection.close()


def value(kind: str, number: int, place: int) -> Any:
    match kind:
        case "INTEGER":
            return number + place * 10
        case "REAL":
            return number + place / 7
        case "BLOB":
            return bytes([place, *number.to_bytes(2, "big"), 0, 92, 10])
        case _:
            return f"é{number}\t{place}\\N\n\"\ue000'"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something of everything; copied by who changes it."""
    folder = tmp_path_factory.mktemp("filled") / "data"

    async def make() -> None:
        with open_folder(folder) as opened:
            for number in range(AUDITED):
                await opened.audit.append("somebody", "test.done", f"test:{number}", {"of": ["é", number]})
            await opened.logs.add([LogLine(1.0, 30, "page.failed", "the très page fell over")])

    asyncio.run(make())
    (folder / "master.key").write_text("0" * 64)
    fill(folder)
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(filled, tmp_path / "data")


@pytest.fixture
def order(folder: Path, empty_database: str, empty_redis: RedisServer) -> MigrationRequest:
    return MigrationRequest(folder, empty_database, empty_redis.url, "cli:somebody")


@pytest.fixture
def small(tmp_path: Path, empty_database: str, empty_redis: RedisServer) -> MigrationRequest:
    """A folder with hardly anything in it."""
    with open_folder(tmp_path / "small"):
        pass
    return MigrationRequest(tmp_path / "small", empty_database, empty_redis.url, "cli:somebody")


def settings_of(order: MigrationRequest) -> Settings:
    return Settings(store_url=order.store_url, frontier_url=order.frontier_url)


def differences(order: MigrationRequest) -> list[str]:
    """What is not the same in both stores; the clocks of one machine agree to less than a second."""
    found = []
    with psycopg.connect(order.store_url, options="-c search_path=smartspider") as target:
        for table in TABLES:
            here = apsw.Connection(str(order.folder / FILE))
            names = [name for _, name, *_ in here.execute(f"PRAGMA table_info({table.name})")]
            chosen = ", ".join(f'"{name}"' for name in names)
            keys = ", ".join(f'"{name}"' for name in table.key)
            wanted = here.execute(f"SELECT {chosen} FROM {table.name} ORDER BY {keys}").fetchall()
            arrived = target.execute(f'SELECT {chosen} FROM "{table.name}"'.encode()).fetchall()
            here.close()
            moved = [at for at, name in enumerate(names) if name in table.shifted]
            if sorted(map(repr, _without(wanted, moved))) != sorted(map(repr, _without(arrived, moved))):
                found.append(table.name)
    return found


ONLY_THERE = {"host": {"changed_at"}}
"""What a frontier apart from the store needs; it begins anew."""


def _without(rows: list[tuple[Any, ...]], places: list[int]) -> list[tuple[Any, ...]]:
    return [tuple(value for at, value in enumerate(row) if at not in places) for row in rows]


def test_every_table_and_every_column_of_a_folder_has_its_place_in_a_cluster(
    filled: Path, empty_store: str
) -> None:
    found = execute(filled, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    names = {name for (name,) in found if not name.startswith(("sqlite_", "log_words"))}
    assert names == {table.name for table in TABLES} | set(NOT_EXPORTED) | set(SINGLE)
    with psycopg.connect(empty_store) as target, closing(FolderExport(filled)) as source:
        for table in TABLES:
            there = target.execute(
                "SELECT column_name FROM information_schema.columns"
                " WHERE table_schema = 'smartspider' AND table_name = %s",
                (table.name,),
            ).fetchall()
            columns = {name for (name,) in there} - ONLY_THERE.get(table.name, set())
            assert set(source.columns(table)) == columns, table.name
            assert set(table.shifted) <= set(source.columns(table))
    assert set(EXTRA) <= {table.name for table in TABLES}


async def test_everything_arrives_as_it_was(order: MigrationRequest) -> None:
    foreseen = await migration.plan_migration(order)
    progress: dict[str, tuple[int, int]] = {}

    def tell(table: str, rows: int, total: int) -> None:
        progress[table] = (rows, total)

    report = await migration.migrate(order, tell)
    assert differences(order) == []
    assert report.tables == {**foreseen.tables, "audit": AUDITED + 1}
    assert report.copied == report.rows == sum(total for _, total in progress.values())
    assert all(rows == total for rows, total in progress.values())
    assert report.is_done
    assert not foreseen.is_done
    assert report.open == 2
    async with open_cluster(settings_of(order), order.folder.parent / "files") as cluster:
        assert (await cluster.audit.verify()).broken is None
        newest, *_ = await cluster.audit.entries()
        assert (newest.action, newest.actor) == ("store.moved", "cli:somebody")
        page = await cluster.logs.before(LogFilter(text="TRÈS", level=30))
        assert [found.line.event for found in page.lines] == ["page.failed"]
        assert await StoredPosition(cluster.database, NOTIFICATIONS, epoch=0).read() == 7
        assert await cluster.logs.size() > 0
    with psycopg.connect(order.store_url, options="-c search_path=smartspider") as target:
        lanes = target.execute("SELECT run_id, host_id FROM lane ORDER BY run_id").fetchall()
        assert lanes == [(url + 10, url + 40) for url in range(1, 3)]
        ((due_at,),) = target.execute("SELECT due_at FROM url WHERE due_at IS NOT NULL").fetchall()
        assert abs(due_at - 5000000000.5) < 1.0


async def test_a_move_that_is_broken_off_again_and_again_comes_to_the_same_end(
    order: MigrationRequest,
) -> None:
    pieces = [("move.piece", count) for count in (1, 2, 3, 8, 13)]
    for place, count in [("move.begun", 1), *pieces, ("move.settled", 1), ("move.closed", 1)]:
        with pytest.raises(Broken):
            await migration.migrate(order, breaking(place, count))
        failpoints.arm(None)
        with pytest.raises(NotAllowed, match="the data folder"), open_folder(order.folder) as opened:
            await opened.audit.append("somebody", "test.done", "test", {})
        with pytest.raises(StoreUnavailable, match="is being filled by `smartspider move`"):
            prepare_store(order.store_url)
    with pytest.raises(Broken):
        await migration.migrate(order, breaking("move.finished", 1))
    failpoints.arm(None)
    assert differences(order) == []
    prepare_store(order.store_url)
    again = await migration.migrate(order, quiet)
    assert (again.is_done, again.copied) == (True, 0)


async def test_a_server_that_goes_away_meanwhile_costs_nothing(
    order: MigrationRequest, postgres_server: PostgresServer
) -> None:
    def cut(table: str, rows: int, _total: int) -> None:
        if table == "item" and rows:
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'smartspider move'"
            )

    with pytest.raises(StoreUnavailable, match="cannot be used"):
        await migration.migrate(order, cut)
    report = await migration.migrate(order, quiet)
    assert 0 < report.copied < report.rows
    assert differences(order) == []


def breaking(place: str, count: int) -> Callable[[str, int, int], None]:
    left = count

    def on_reach(reached: str) -> None:
        nonlocal left
        left -= reached == place
        if not left:
            raise Broken

    failpoints.arm(on_reach)
    return quiet


@pytest.fixture(autouse=True)
def disarmed() -> Any:
    yield
    failpoints.arm(None)


async def test_no_number_is_given_twice(order: MigrationRequest) -> None:
    execute(order.folder, "DELETE FROM run WHERE id > 3; DELETE FROM event; DELETE FROM log")
    await migration.migrate(order, quiet)
    with psycopg.connect(order.store_url, options="-c search_path=smartspider") as target:
        for table in ("run", "event", "log"):
            found = target.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", (table,)).fetchone()
            assert found is not None
            assert found[0] == ROWS + 1 + (table == "log"), table
        assert target.execute("SELECT last FROM log_size").fetchone() == (ROWS + 1,)


async def test_who_waits_waits_as_long_by_the_other_clock(order: MigrationRequest) -> None:
    with open_folder(order.folder) as opened:
        await opened.audit.append(
            "somebody", "test.done", "test", {}
        )  # the folder's clock follows the wall's
        now = opened.leadership.now()
    execute(order.folder, "UPDATE clock SET shift_s = shift_s + 3600")
    execute(order.folder, "UPDATE host SET held_until = ? WHERE id = 1", (now + 3600 + 100,))
    execute(order.folder, "UPDATE later SET due_at = ?", (now + 3600 + 50,))
    await migration.migrate(order, quiet)
    with psycopg.connect(order.store_url, options="-c search_path=smartspider") as target:
        ((held_until,),) = target.execute("SELECT held_until FROM host WHERE id = 1").fetchall()
        ((due_at,),) = target.execute("SELECT due_at FROM url WHERE due_at IS NOT NULL").fetchall()
    assert abs(held_until - now - 100) < 5
    assert abs(due_at - now - 50) < 5


async def test_what_postgres_cannot_keep_is_replaced_and_told(order: MigrationRequest) -> None:
    execute(order.folder, "UPDATE item SET data = 'a' || char(0) || 'b' WHERE id = 3")
    execute(order.folder, "UPDATE url SET page = CAST(x'61ff62' AS TEXT) WHERE id = 3")
    execute(order.folder, "UPDATE url SET page = CAST('bytes' AS BLOB) WHERE id = 4")
    report = await migration.migrate(order, quiet)
    assert sorted(report.cleaned) == ["item", "url"]
    with psycopg.connect(order.store_url, options="-c search_path=smartspider") as target:
        assert target.execute("SELECT data FROM item WHERE id = 3").fetchone() == ("a\ufffdb",)
        pages = target.execute("SELECT page FROM url WHERE id IN (3, 4) ORDER BY id").fetchall()
    assert pages == [("a\ufffdb",), ("bytes",)]


async def test_a_folder_that_was_moved_can_be_read_and_not_worked_in(small: MigrationRequest) -> None:
    await migration.migrate(small, quiet)
    with open_folder(small.folder) as opened:
        assert len(await opened.audit.entries()) == 1
        with pytest.raises(NotAllowed, match="was moved to the cluster whose store is at"):
            await opened.store.set_state(1, "paused", actor="somebody")
        with pytest.raises(NotAllowed):
            await opened.check_writable()
    with pytest.raises(NotAllowed, match="was moved"):
        check_not_moved(small.folder)
    with pytest.raises(NotAllowed, match="was moved"):
        await migration.cancel_migration(small.folder, "cli:somebody")


async def test_a_move_that_is_given_up_leaves_the_folder_as_it_was(small: MigrationRequest) -> None:
    with pytest.raises(Broken):
        await migration.migrate(small, breaking("move.settled", 1))
    failpoints.arm(None)
    await migration.cancel_migration(small.folder, "cli:somebody")
    check_not_moved(small.folder)
    with open_folder(small.folder) as opened:
        await opened.audit.append("somebody", "test.done", "test", {})
    with pytest.raises(NotAllowed, match="is not being moved"):
        await migration.cancel_migration(small.folder, "cli:somebody")


@pytest.mark.parametrize("place", ["move.begun", "move.piece", "move.settled"])
async def test_a_folder_that_stayed_and_changed_moves_to_the_same_store_after_all(
    order: MigrationRequest, place: str
) -> None:
    """What had arrived is of no use and is taken out; nobody could work there, and is progress what to do."""
    with pytest.raises(Broken):
        await migration.migrate(order, breaking(place, 1))
    failpoints.arm(None)
    await migration.cancel_migration(order.folder, "cli:somebody")
    with pytest.raises(StoreUnavailable, match="being filled") as progress:
        prepare_store(order.store_url)
    assert "run the same `smartspider move` again" in progress.value.hint
    execute(order.folder, "UPDATE run SET state = 'completed'; DELETE FROM url WHERE id < 5")
    execute(order.folder, "DELETE FROM meta WHERE name = 'notifications'")
    with pytest.raises(Broken):  # also that may be broken off
        await migration.migrate(order, breaking("move.begun", 1))
    failpoints.arm(None)
    report = await migration.migrate(order, quiet)
    assert report.copied == report.rows
    assert differences(order) == []
    with psycopg.connect(order.store_url, options="-c search_path=smartspider") as target:
        assert target.execute("SELECT count(*) FROM lane").fetchone() == (0,)
        assert target.execute("SELECT count(*) FROM meta WHERE name = 'notifications'").fetchone() == (0,)
    async with open_cluster(settings_of(order), order.folder.parent / "files") as cluster:
        assert (await cluster.audit.verify()).broken is None


async def test_what_another_folder_has_half_filled_is_not_emptied(
    small: MigrationRequest, folder: Path
) -> None:
    with pytest.raises(Broken):
        await migration.migrate(small, breaking("move.settled", 1))
    failpoints.arm(None)
    await migration.cancel_migration(small.folder, "cli:somebody")
    other = MigrationRequest(folder, small.store_url, small.frontier_url, "cli:somebody")
    with pytest.raises(NotAllowed, match="another unfinished migration") as caught:
        await migration.migrate(other, quiet)
    assert "DROP SCHEMA smartspider CASCADE" in caught.value.hint
    check_not_moved(folder)
    with psycopg.connect(small.store_url, autocommit=True) as target:
        target.execute("DROP SCHEMA smartspider CASCADE")
    assert (await migration.migrate(other, quiet)).is_done


async def test_a_store_with_anything_in_it_is_refused(small: MigrationRequest) -> None:
    async with open_cluster(settings_of(small), small.folder.parent / "files") as cluster:
        await cluster.audit.append("somebody", "test.done", "test", {})
    for act in (migration.plan_migration(small), migration.migrate(small, quiet)):
        with pytest.raises(NotAllowed, match=r"is not empty: .*\baudit$"):
            await act
    check_not_moved(small.folder)


async def test_a_store_that_others_use_is_refused(small: MigrationRequest) -> None:
    async with open_cluster(settings_of(small), small.folder.parent / "files") as cluster:
        await cluster.check_writable()
        with pytest.raises(NotAllowed, match="is used by other programs of a cluster"):
            await migration.migrate(small, quiet, wait_s=0.2)
    check_not_moved(small.folder)
    assert (await migration.migrate(small, quiet)).is_done


async def test_two_folders_do_not_meet_in_one_store(
    small: MigrationRequest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MigrationRequest(folder, small.store_url, small.frontier_url, "cli:somebody")
    lock = FolderImport.lock

    def lock_after_the_other(self: FolderImport) -> bool:
        """The first folder is moved after the store was checked and before it is locked."""
        monkeypatch.undo()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, migration.migrate(small, quiet)).result(WAIT_S)
        return lock(self)

    # no other way leads between two of its steps
    monkeypatch.setattr(FolderImport, "lock", lock_after_the_other)
    with pytest.raises(NotAllowed, match="was filled by another migration"):
        await migration.migrate(other, quiet)
    check_not_moved(folder)


async def test_a_folder_that_somebody_works_in_is_refused(small: MigrationRequest) -> None:
    with open_folder(small.folder), pytest.raises(NotAllowed, match="is in use by another program"):
        await migration.migrate(small, quiet)
    check_not_moved(small.folder)


async def test_the_redis_of_another_cluster_is_refused(small: MigrationRequest) -> None:
    from smartspider.backends.redis.address import read_url
    from smartspider.backends.redis.frontier_index import RedisIndex
    from smartspider.backends.redis.shards import Shards

    shards = Shards(read_url(small.frontier_url))
    await RedisIndex(shards).begin(0, 3)
    await shards.close()
    for act in (migration.plan_migration(small), migration.migrate(small, quiet)):
        with pytest.raises(NotAllowed, match=r"127\.0\.0\.1:\d+ .*the frontier of a cluster") as caught:
            await act
        assert "?namespace=NAME" in caught.value.hint
    apart = f"{small.frontier_url.partition('?')[0]}?namespace=apart"
    named = MigrationRequest(small.folder, small.store_url, apart, small.actor)
    assert (await migration.plan_migration(named)).tables["audit"] == 0


async def test_a_folder_on_its_way_goes_nowhere_else(
    small: MigrationRequest, postgres_server: PostgresServer, empty_redis: RedisServer
) -> None:
    with pytest.raises(Broken):
        await migration.migrate(small, breaking("move.begun", 1))
    failpoints.arm(None)
    other = MigrationRequest(
        small.folder, postgres_server.create_database("elsewhere"), empty_redis.url, small.actor
    )
    try:
        with pytest.raises(NotAllowed, match="is being moved to the cluster"):
            await migration.migrate(other, quiet)
    finally:
        postgres_server.drop_database("elsewhere")


async def test_servers_that_do_not_answer_are_named_without_a_password(small: MigrationRequest) -> None:
    lost = "postgresql://user:geheim@127.0.0.1:1/there"
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/there") as refused:
        await migration.migrate(MigrationRequest(small.folder, lost, small.frontier_url, small.actor), quiet)
    assert "geheim" not in f"{refused.value.message}{refused.value.hint}"
    redis = "redis://:geheim@127.0.0.1:1"
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1 cannot be used") as refused:
        await migration.migrate(MigrationRequest(small.folder, small.store_url, redis, small.actor), quiet)
    assert "geheim" not in f"{refused.value.message}{refused.value.hint}"
    check_not_moved(small.folder)
