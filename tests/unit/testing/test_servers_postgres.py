"""PostgreSQL servers of the test kit, on real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from smartspider_testing.servers import (
    NotPossibleHere,
    PostgresServer,
    PristineDatabase,
    ServerFailed,
    SmallDisk,
    process_stats,
)
from smartspider_testing.servers.postgres.client import PostgresRefused
from smartspider_testing.servers.process import wait_until_gone
from smartspider_testing.servers.temporary_folder import TemporaryFolder, clear_away

pytestmark = pytest.mark.servers


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def setting(url: str, name: str) -> object:
    return run(url, f"SHOW {name}")[0][0]


@pytest.fixture
def server(tmp_path: Path, postgres_template: Path) -> Callable[..., PostgresServer]:
    return lambda **options: PostgresServer(tmp_path / "server", template=postgres_template, **options)


def test_a_database_is_made_copied_and_dropped(postgres_server: PostgresServer, empty_database: str) -> None:
    run(empty_database, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (7)")
    copy = postgres_server.create_database('a "copy"', empty_database.rpartition("/")[2])
    assert run(copy, "SELECT n FROM t") == [(7,)]
    postgres_server.drop_database('a "copy"')
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        run(copy, "SELECT 1")
    postgres_server.drop_database('a "copy"')


def test_the_server_is_quick_and_has_room_for_many(empty_database: str) -> None:
    assert setting(empty_database, "fsync") == "off"
    assert setting(empty_database, "shared_buffers") == "64MB"
    assert setting(empty_database, "max_connections") == "200"


def test_clients_are_no_administrators(empty_database: str) -> None:
    assert run(empty_database, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [(False,)]
    with pytest.raises(psycopg.OperationalError, match="pg_hba"):
        run(empty_database.replace("smartspider@", "postgres@"), "SELECT 1")


def test_what_was_committed_survives_a_kill_and_a_stop(server: Callable[..., PostgresServer]) -> None:
    with server(is_durable=True) as started:
        url = started.create_database("kept")
        assert setting(url, "fsync") == "on"
        assert setting(url, "full_page_writes") == "on"
        run(url, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)")
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO t VALUES (2)")
            # One that computes does not notice by itself that its postmaster is gone.
            connection.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 10000000000)")
            busy = (
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%10000000000)'"
            )
            started.wait_until("compute", lambda: started.execute(busy) == [["1"]])
            began = time.monotonic()
            family = [started.pid, *process_stats.children(started.pid)]
            started.kill()
            assert not any(map(process_stats.is_alive, family))
            assert time.monotonic() - began < 5
            connection.close()
        started.start()
        assert run(url, "SELECT n FROM t") == [(1,)]
        spent = started.cpu_s()
        started.restart()
        assert run(url, "SELECT n FROM t") == [(1,)]
        assert started.cpu_s() >= spent


def test_what_was_put_elsewhere_is_gone_with_the_server(tmp_path: Path, postgres_template: Path) -> None:
    folder = tmp_path / ("a path that is far too long for a socket " * 3)
    with PostgresServer(folder, template=postgres_template) as started:
        home, family = started.folder, [started.pid, *process_stats.children(started.pid)]
        assert home != folder
    assert not home.exists()
    wait_until_gone(family)


def test_what_a_killed_process_left_is_cleared_away_and_what_is_in_use_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # Python reads TMPDIR only once
    dies = (
        "import os; from smartspider_testing.servers.temporary_folder import TemporaryFolder;"
        "place = TemporaryFolder(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", dies], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert len(list(tmp_path.iterdir())) == 1
    mine = TemporaryFolder()
    clear_away()
    assert list(tmp_path.iterdir()) == [mine.path]
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_cpu_of_ended_connections_counts(postgres_server: PostgresServer, empty_database: str) -> None:
    before = postgres_server.cpu_s()
    run(empty_database, "SELECT sum(g) FROM generate_series(1, 1000000) g")
    postgres_server.wait_until("spend time", lambda: postgres_server.cpu_s() - before > 0.02)
    assert postgres_server.memory_bytes() > 5_000_000


def test_an_error_names_its_state(postgres_server: PostgresServer) -> None:
    with pytest.raises(PostgresRefused, match="syntax error") as told:
        postgres_server.execute("NONSENSE")
    assert told.value.code == "42601"
    assert postgres_server.execute("SELECT NULL, 'ü', ''") == [[None, "ü", ""]]


@pytest.fixture
def small_disk(postgres_server: PostgresServer) -> Iterator[SmallDisk]:
    disk = SmallDisk(postgres_server.folder / "small", 16 * 2**20)
    try:
        disk.start()
    except NotPossibleHere as reason:
        pytest.skip(str(reason))
    yield disk
    disk.stop()


def test_a_full_disk_is_an_error_of_the_statement_and_more_room_heals_it(
    postgres_server: PostgresServer, small_disk: SmallDisk
) -> None:
    fill = "INSERT INTO t SELECT repeat('x', 900) FROM generate_series(1, 20000)"
    postgres_server.create_tablespace("small", small_disk.folder)
    url = postgres_server.create_database("cramped", tablespace="small")
    run(url, "CREATE TABLE t (x text)")
    with pytest.raises(psycopg.errors.DiskFull):
        run(url, fill)
    small_disk.resize(64 * 2**20)
    run(url, fill)
    assert small_disk.free_bytes < 48 * 2**20
    postgres_server.drop_database("cramped")
    postgres_server.execute("DROP TABLESPACE small")


def test_a_disk_is_gone_when_it_is_stopped(small_disk: SmallDisk) -> None:
    with pytest.raises(ServerFailed, match="already"):
        small_disk.start()
    assert small_disk.folder.is_mount()
    small_disk.stop()
    assert not small_disk.folder.is_mount()


class TestPristineDatabase:
    @staticmethod
    def prepare(url: str) -> None:
        run(
            url,
            "CREATE TABLE parent (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x text)",
            "CREATE TABLE child (id int REFERENCES parent, at timestamptz)",
            'CREATE TABLE seed (id int, "odd \'name" text[])',
            "INSERT INTO seed VALUES (1, ARRAY['it''s', NULL, '\"']), (2, NULL)",
        )

    def test_rows_and_ids_are_as_they_were_at_first(self, postgres_server: PostgresServer) -> None:
        with PristineDatabase(postgres_server, "pristine", self.prepare) as database:
            at_first = run(database.url, "SELECT * FROM seed ORDER BY id")
            for _ in range(2):
                added = "INSERT INTO parent (x) VALUES ('a'), ('b') RETURNING id"
                assert run(database.url, added) == [(1,), (2,)]
                run(database.url, "INSERT INTO child VALUES (1, now())", "UPDATE seed SET id = 9")
                assert database.reset() == database.url
                counted = "SELECT (SELECT count(*) FROM parent), (SELECT count(*) FROM child)"
                assert run(database.url, counted) == [(0, 0)]
                assert run(database.url, "SELECT * FROM seed ORDER BY id") == at_first

    def test_nobody_stays_with_a_lock(self, postgres_server: PostgresServer) -> None:
        with PristineDatabase(postgres_server, "pristine", self.prepare) as database:
            connection = psycopg.connect(database.url)
            connection.execute("INSERT INTO parent VALUES (5, 'x')")
            connection.execute("LOCK TABLE seed")
            database.reset()
            with pytest.raises(psycopg.OperationalError):
                connection.commit()
            connection.close()
            assert run(database.url, "SELECT count(*) FROM parent") == [(0,)]

    def test_changed_tables_are_made_anew(self, postgres_server: PostgresServer) -> None:
        with PristineDatabase(postgres_server, "pristine", self.prepare) as database:
            run(database.url, "DROP TABLE child", "CREATE TABLE stranger (n int)")
            database.reset()
            assert run(database.url, "SELECT to_regclass('stranger'), count(*) FROM child") == [(None, 0)]
