from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import apsw
import pytest

from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.schema import VERSION, prepare
from smartspider.core.errors import StoreUnavailable


def _ask(folder: Path, sql: str, file: str = FILE) -> object:
    connection = apsw.Connection(str(folder / file))
    try:
        return connection.execute(sql).get
    finally:
        connection.close()


def test_a_new_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    prepare(folder)
    prepare(folder)
    assert _ask(folder, "PRAGMA user_version") == VERSION
    assert _ask(folder, "SELECT count(*) FROM run") == 0


@pytest.mark.parametrize("version", [VERSION + 1, VERSION + 3, -1])
def test_a_folder_of_another_format_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    prepare(tmp_path)
    _ask(tmp_path, f"PRAGMA user_version = {version}")
    with pytest.raises(
        StoreUnavailable, match=rf"has format {version}\b.* reads format {VERSION}$"
    ) as caught:
        prepare(tmp_path)
    assert "--data" in caught.value.hint
    assert _ask(tmp_path, "PRAGMA user_version") == version


def test_a_folder_of_a_pre_release_is_refused_and_left_alone(tmp_path: Path) -> None:
    prepare(tmp_path)
    _ask(tmp_path, "PRAGMA application_id = 1397968964")
    with pytest.raises(StoreUnavailable, match="pre-release"):
        prepare(tmp_path)
    assert _ask(tmp_path, "PRAGMA application_id") == 1397968964


@pytest.mark.parametrize("version", [0, VERSION])
def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path, version: int) -> None:
    _ask(tmp_path, "CREATE TABLE theirs (a)")
    _ask(tmp_path, f"PRAGMA user_version = {version}")
    with pytest.raises(StoreUnavailable, match="another program"):
        prepare(tmp_path)
    assert _ask(tmp_path, "SELECT group_concat(name) FROM sqlite_schema") == "theirs"


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is not a database, it is a letter to my aunt" * 99)
    with pytest.raises(StoreUnavailable, match="damaged"):
        prepare(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable, match="cannot be created"):
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
