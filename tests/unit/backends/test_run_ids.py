"""Run ids that do not repeat across the data folders of one parent folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smartspider.backends.sqlite.run_ids import COUNTER, SharedRunIds
from smartspider.core.errors import Conflict
from smartspider.store.database import Connection
from smartspider.wiring.opening import open_folder
from smartspider_testing.contracts.actions import plan_of
from smartspider_testing.waiting import WAIT_S


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / ".smartspider"


async def begin(folder: Path) -> int:
    with open_folder(folder) as opened:
        return (await opened.store.create_run(plan_of())).id


async def delete(folder: Path, run_id: int) -> None:
    with open_folder(folder) as opened:
        await opened.store.delete_run(run_id)


async def test_folders_side_by_side_give_ids_in_turn(home: Path) -> None:
    assert [await begin(home / name) for name in ("a", "b", "a", "c")] == [1, 2, 3, 4]


async def test_a_folder_elsewhere_counts_for_itself(home: Path, tmp_path: Path) -> None:
    assert await begin(home / "a") == 1
    assert await begin(tmp_path / "elsewhere" / "a") == 1
    assert await begin(tmp_path / "elsewhere" / "b") == 1
    assert not (tmp_path / "elsewhere" / COUNTER).exists()


async def test_ids_of_deleted_runs_and_folders_are_not_used_again(home: Path) -> None:
    assert await begin(home / "a") == 1
    assert await begin(home / "b") == 2
    await delete(home / "b", 2)
    assert await begin(home / "a") == 3
    shutil.rmtree(home / "a")
    shutil.rmtree(home / "b")
    assert await begin(home / "c") == 4


async def test_a_folder_copied_from_elsewhere_raises_the_ids_of_all(home: Path, tmp_path: Path) -> None:
    for _ in range(5):
        await begin(tmp_path / "other")
    assert await begin(home / "a") == 1
    shutil.copytree(tmp_path / "other", home / "other")
    assert await begin(home / "a") == 6
    assert await begin(home / "other") == 7


@pytest.mark.parametrize("text", [b"", b"garbage", b"-3", b"\xff\x00", b"9" * 20, b"9223372036854775806"])
async def test_a_lost_or_damaged_counter_is_made_again_from_the_folders(home: Path, text: bytes) -> None:
    assert [await begin(home / name) for name in ("a", "b")] == [1, 2]
    (home / COUNTER).write_bytes(text)
    assert await begin(home / "a") == 3
    (home / COUNTER).unlink()
    assert await begin(home / "b") == 4


async def test_a_damaged_folder_keeps_no_other_from_its_ids(home: Path) -> None:
    assert await begin(home / "a") == 1
    (home / "broken").mkdir()
    (home / "broken" / "smartspider.db").write_bytes(b"no database" * 1000)
    assert await begin(home / "a") == 2


def test_a_counter_that_cannot_be_written_stops_no_run(home: Path) -> None:
    (home / COUNTER).mkdir(parents=True)
    ids = SharedRunIds(home)
    assert ids.take(7) == 8
    ids.commit()
    ids.release()


async def test_a_run_that_is_not_created_uses_no_id(home: Path) -> None:
    with open_folder(home / "a") as folder:
        await folder.store.create_run(plan_of(), is_only=True)
        with pytest.raises(Conflict):
            await folder.store.create_run(plan_of(), is_only=True)
        with pytest.raises(ZeroDivisionError):
            await folder.database.write(_fail_after_taking)
    assert await begin(home / "b") == 2


def _fail_after_taking(connection: Connection) -> None:
    connection.advance_run_ids()
    raise ZeroDivisionError


def test_processes_take_different_ids(home: Path) -> None:
    home.mkdir()
    script = (
        "import sys; from pathlib import Path; from smartspider.backends.sqlite.run_ids import SharedRunIds\n"
        "ids = SharedRunIds(Path(sys.argv[1]))\n"
        "print(*((ids.take(0), ids.commit())[0] for _ in range(200)))"
    )
    handle = os.open(home / COUNTER, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)  # until all processes are there
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(home)], stdout=subprocess.PIPE) for _ in range(3)
    ]
    os.close(handle)
    taken = [int(word) for process in processes for word in process.communicate(timeout=WAIT_S)[0].split()]
    assert sorted(taken) == list(range(1, 601))
