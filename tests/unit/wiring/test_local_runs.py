"""The runs of several data folders: found by id and by task, and the newest of all."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from smartspider.core.errors import NotFound, RequestInvalid, StoreUnavailable
from smartspider.installation.local_runs import LocalRuns
from smartspider.wiring.opening import open_folder
from smartspider_testing.contracts.actions import plan_of

HOME = Path(".smartspider")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def begin(folder: Path, task: str = "task") -> int:
    with open_folder(folder) as opened:
        return (await opened.store.create_run(plan_of(name=task))).id


async def test_a_run_is_found_in_the_folder_that_has_it() -> None:
    ids = {name: await begin(HOME / name) for name in ("a", "b", "c")}
    runs = LocalRuns()
    assert {name: runs.folder_of_run(number) for name, number in ids.items()} == {
        name: HOME / name for name in ids
    }
    with pytest.raises(NotFound, match=r"no run 9 in the 3 data folders here"):
        runs.folder_of_run(9)


async def test_the_newest_run_of_all_folders_is_meant() -> None:
    for name in ("b", "a", "c", "a"):
        await begin(HOME / name)
    assert LocalRuns().newest_folder() == HOME / "a"


async def test_a_run_in_a_copied_folder_has_to_be_named_with_its_folder() -> None:
    number = await begin(HOME / "a")
    shutil.copytree(HOME / "a", HOME / "copy")
    with pytest.raises(RequestInvalid, match=r"\.smartspider/a and \.smartspider/copy") as caught:
        LocalRuns().folder_of_run(number)
    assert "--data" in caught.value.hint


async def test_the_folder_of_the_settings_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await begin(HOME / "a") == await begin(Path("set")) == 1
    assert await begin(HOME / "a") == 2
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", "sqlite:///set")
    runs = LocalRuns()
    assert runs.folder_of_run(1) == Path("set")
    assert runs.folder_of_run(2) == runs.newest_folder() == HOME / "a"
    assert runs.folder_of_task("a") == Path("set")
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", "sqlite:///.smartspider/a")
    assert list(LocalRuns().newest) == [HOME / "a"]


async def test_a_task_is_found_in_its_own_folder_or_in_another() -> None:
    await begin(HOME / "shop", "shop")
    await begin(HOME / "mixed", "news")
    await begin(HOME / "server", "shop")
    runs = LocalRuns()
    assert runs.folder_of_task("shop") == HOME / "shop"
    assert runs.folder_of_task("news") == HOME / "mixed"
    assert runs.folder_of_task("1") == HOME / "server"  # which may be an id
    assert runs.folder_of_task("quite_another") == HOME / "server"


async def test_a_mistyped_task_is_told_the_nearest_of_all_folders() -> None:
    await begin(HOME / "shop", "shop")
    await begin(HOME / "news", "news")
    with pytest.raises(NotFound, match="there is no task 'shp'") as caught:
        LocalRuns().folder_of_task("shp")
    assert caught.value.hint == "did you mean 'shop'?"


@pytest.mark.parametrize("trouble", ["damaged", "format", "locked"])
async def test_a_folder_that_cannot_be_read_hides_no_other(trouble: str) -> None:
    for name in ("a", "b"):
        await begin(HOME / name)
    file = HOME / "b" / "smartspider.db"
    connection = apsw.Connection(str(file))
    if trouble == "format":
        connection.pragma("user_version", 99)
    if trouble == "locked":
        connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").fetchall()
    else:
        connection.close()
    if trouble == "damaged":
        file.write_bytes(b"no database" * 1000)
    runs = LocalRuns()
    assert runs.newest_folder() == runs.folder_of_run(1) == HOME / "a"
    (unreadable,) = runs.unreadable
    assert unreadable.path == HOME / "b"
    connection.close()


def test_folders_that_all_cannot_be_read_are_an_error() -> None:
    (HOME / "a").mkdir(parents=True)
    (HOME / "a" / "smartspider.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreUnavailable, match="damaged"):
        LocalRuns().newest_folder()


def test_an_empty_file_is_a_folder_without_runs() -> None:
    (HOME / "a").mkdir(parents=True)
    (HOME / "a" / "smartspider.db").write_bytes(b"")
    runs = LocalRuns()
    assert runs.newest == {HOME / "a": None}
    assert runs.newest_folder() == HOME / "a"
