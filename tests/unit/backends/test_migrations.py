from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import apsw
import pytest

from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.migrations import VERSION, prepare
from smartspider.backends.sqlite.worker_locks import FileLock
from smartspider.core.errors import StoreUnavailable


def _ask(folder: Path, sql: str, file: str = FILE) -> object:
    connection = apsw.Connection(str(folder / file))
    try:
        return connection.execute(sql).get
    finally:
        connection.close()


def _add_column(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE run ADD COLUMN added TEXT DEFAULT 'x'")


def _fail(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE run ADD COLUMN half TEXT")
    raise RuntimeError("the migration is wrong")


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    prepare(folder)
    prepare(folder)
    assert _ask(folder, "PRAGMA user_version") == VERSION
    assert _ask(folder, "SELECT count(*) FROM run") == 0


def test_a_folder_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    prepare(tmp_path)
    _ask(tmp_path, f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreUnavailable, match="newer SmartSpider"):
        prepare(tmp_path)
    assert _ask(tmp_path, "PRAGMA user_version") == VERSION + 1


def test_an_older_folder_is_copied_and_then_migrated(tmp_path: Path) -> None:
    prepare(tmp_path)
    _ask(tmp_path, "INSERT INTO host (name, domain) VALUES ('before', 'x')")
    steps = {VERSION: _add_column, VERSION + 1: lambda _: None}
    prepare(tmp_path, steps, VERSION + 2)
    assert _ask(tmp_path, "PRAGMA user_version") == VERSION + 2
    assert _ask(tmp_path, "SELECT count(*) FROM pragma_table_info('run') WHERE name = 'added'") == 1
    copy = f"smartspider.before-format-{VERSION + 1}.db"
    assert _ask(tmp_path, "PRAGMA user_version", copy) == VERSION
    assert _ask(tmp_path, "SELECT name FROM host", copy) == "before"


def test_a_migration_that_fails_changes_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    prepare(tmp_path)
    with pytest.raises(RuntimeError):
        prepare(tmp_path, {VERSION: _fail}, VERSION + 1)
    assert _ask(tmp_path, "PRAGMA user_version") == VERSION
    assert _ask(tmp_path, "SELECT count(*) FROM pragma_table_info('run') WHERE name = 'half'") == 0
    prepare(tmp_path, {VERSION: _add_column}, VERSION + 1)
    assert _ask(tmp_path, "PRAGMA user_version") == VERSION + 1


def test_two_programs_do_not_migrate_one_folder_at_once(tmp_path: Path) -> None:
    prepare(tmp_path)
    lock = FileLock(tmp_path / "migration.lock")
    assert lock.acquire()
    with pytest.raises(StoreUnavailable, match="being migrated"):
        prepare(tmp_path, {VERSION: _add_column}, VERSION + 1)
    lock.release(remove=True)


def test_a_folder_that_was_migrated_while_waiting_is_not_migrated_again(tmp_path: Path) -> None:
    prepare(tmp_path)
    acquire = FileLock.acquire
    is_first = [True]

    def someone_was_faster(lock: FileLock) -> bool:
        if is_first:
            is_first.clear()
            prepare(tmp_path, {VERSION: _add_column}, VERSION + 1)
        return acquire(lock)

    with patch.object(FileLock, "acquire", someone_was_faster):
        prepare(tmp_path, {VERSION: _add_column}, VERSION + 1)
    assert _ask(tmp_path, "PRAGMA user_version") == VERSION + 1
    assert _ask(tmp_path, "PRAGMA user_version", f"smartspider.before-format-{VERSION + 1}.db") == VERSION


def test_without_room_for_the_copy_nothing_is_migrated(tmp_path: Path) -> None:
    prepare(tmp_path)
    full = SimpleNamespace(free=0)
    with (
        patch("smartspider.backends.sqlite.migrations.shutil.disk_usage", return_value=full),
        pytest.raises(StoreUnavailable, match="no room"),
    ):
        prepare(tmp_path, {VERSION: _add_column}, VERSION + 1)
    assert _ask(tmp_path, "PRAGMA user_version") == VERSION


@pytest.mark.parametrize("version", [0, VERSION])
def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    _ask(tmp_path, "CREATE TABLE theirs (a)")
    _ask(tmp_path, f"PRAGMA user_version = {version}")
    with pytest.raises(StoreUnavailable, match=r"something else|not a SmartSpider"):
        prepare(tmp_path)
    assert _ask(tmp_path, "SELECT group_concat(name) FROM sqlite_schema") == "theirs"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is not a database, it is a letter to my aunt" * 99)
    with pytest.raises(StoreUnavailable, match="damaged"):
        prepare(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match="cannot be made"):
        prepare(tmp_path / "file" / "data")


def test_a_network_file_system_is_refused(tmp_path: Path) -> None:
    mounts = f"disk / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n"
    read_text = Path.read_text

    def read(path: Path, *args: str, **more: str) -> str:
        return mounts if str(path) == "/proc/self/mounts" else read_text(path, *args, **more)

    with patch.object(Path, "read_text", read), pytest.raises(StoreUnavailable, match=r"nfs4"):
        prepare(tmp_path / "data")


def test_errors_of_the_disk_are_in_our_words(tmp_path: Path) -> None:
    blocked = tmp_path / FILE
    blocked.mkdir()
    with pytest.raises(StoreUnavailable) as caught:
        prepare(tmp_path)
    assert caught.value.hint
