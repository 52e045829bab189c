"""Data folders: which one is meant, and who may work in it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from smartspider.core import failpoints
from smartspider.core.errors import NotAllowed, NotFound, RequestInvalid
from smartspider.installation.data_folder import (
    all_folders,
    find_folder,
    folder_of,
    pending_output,
    run_lock,
    runs_with_pending_output,
    task_lock,
)
from smartspider.wiring import fault_injection
from smartspider.wiring.opening import open_folder
from smartspider.wiring.preview.command_fetch import command_fetcher, command_plan
from smartspider.wiring.processes.lifecycle import run_loop
from smartspider_testing.contracts.actions import plan_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(path: Path) -> None:
    with open_folder(path):
        pass


def test_a_folder_that_is_named_must_be_there(here: Path) -> None:
    with pytest.raises(NotFound, match="there is no data folder"):
        find_folder(here / "data")
    make(here / "data")
    assert find_folder(here / "data") == here / "data"


def test_the_only_folder_there_is_needs_no_name(here: Path) -> None:
    with pytest.raises(NotFound, match="there is no data folder here") as caught:
        find_folder(None)
    assert "--data" in caught.value.hint
    make(here / ".smartspider" / "shop")
    assert find_folder(None) == Path(".smartspider/shop")


def test_among_several_folders_the_one_used_last_is_meant(here: Path) -> None:
    for age, name in enumerate(("shop", "news", "older")):
        make(here / ".smartspider" / name)
        file = here / ".smartspider" / name / "smartspider.db"
        os.utime(file, (1000.0 - age, 1000.0 - age))
    (here / ".smartspider" / "empty").mkdir()
    assert find_folder(None) == Path(".smartspider") / "shop"
    log = here / ".smartspider" / "news" / "smartspider.db-wal"
    log.write_bytes(b"")
    assert find_folder(None) == Path(".smartspider") / "news"


def test_a_folder_can_be_set_for_all_commands(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(here / ".smartspider" / "shop")
    make(here / "other")
    assert folder_of(None, "shop") == Path(".smartspider/shop")
    assert all_folders(None) == [Path(".smartspider/shop")]
    monkeypatch.setenv("SMARTSPIDER_STORE_URL", "sqlite:///set")
    assert folder_of(None, "shop") == Path("set")
    for find in (find_folder, all_folders):
        with pytest.raises(NotFound, match="there is no data folder set"):
            find(None)
    make(here / "set")
    assert find_folder(None) == Path("set")
    assert all_folders(None) == [Path("set")]
    assert folder_of(Path("other"), "shop") == find_folder(Path("other")) == Path("other")


async def test_what_was_written_is_there_when_the_folder_is_opened_again(tmp_path: Path) -> None:
    with open_folder(tmp_path / "data") as folder:
        run = await folder.store.create_run(plan_of())
    with open_folder(tmp_path / "data") as folder:
        assert await folder.store.get_run(run.id) == run


@pytest.mark.parametrize(
    ("lock", "other"),
    [
        (lambda path: run_lock(path, 1), lambda path: run_lock(path, 2)),
        (lambda path: task_lock(path, "a"), lambda path: task_lock(path, "b")),
    ],
    ids=["run", "task"],
)
def test_only_one_at_a_time_holds_a_lock_and_it_can_be_taken_again(
    tmp_path: Path, lock: object, other: object
) -> None:
    assert callable(lock)
    assert callable(other)
    for _ in range(2):
        with lock(tmp_path):
            with pytest.raises(NotAllowed, match="in use by another process"), lock(tmp_path):
                pass
            with other(tmp_path):
                pass


def test_a_lock_is_let_go_when_its_work_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), run_lock(tmp_path, 1):
        raise RuntimeError
    with run_lock(tmp_path, 1):
        pass


def test_the_last_lock_on_a_run_goes_when_all_ends_well(tmp_path: Path) -> None:
    file = tmp_path / "runs" / "1.lock"
    with pytest.raises(RuntimeError), run_lock(tmp_path, 1, is_last=True):
        raise RuntimeError
    assert file.exists()
    with run_lock(tmp_path, 1, is_last=True):
        assert file.exists()
    assert not file.exists()


def test_a_run_owes_its_rows_until_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pending_output(tmp_path, 4):
        assert runs_with_pending_output(tmp_path) == {4}
    assert runs_with_pending_output(tmp_path) == set()
    with pytest.raises(RuntimeError), pending_output(tmp_path, 5):
        raise RuntimeError
    assert runs_with_pending_output(tmp_path) == {5}


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, int]]]:
    kills: list[tuple[int, int]] = []
    # the process that would be killed is this one
    monkeypatch.setattr(os, "kill", lambda *call: kills.append(call))
    yield kills
    failpoints.arm(None)


@pytest.mark.parametrize(("value", "count"), [("settle.items:3", 3), ("settle.items", 1)])
def test_a_process_dies_at_the_named_place_the_nth_time(
    monkeypatch: pytest.MonkeyPatch, killed: list[tuple[int, int]], value: str, count: int
) -> None:
    monkeypatch.setenv(fault_injection.VARIABLE, value)
    fault_injection.arm_from_environment()
    for reached in range(count):
        assert killed == []
        failpoints.reach("settle.closed")
        assert reached < count
        failpoints.reach("settle.items")
    assert killed == [(os.getpid(), signal.SIGKILL)]


def test_without_a_place_nothing_is_armed(
    monkeypatch: pytest.MonkeyPatch, killed: list[tuple[int, int]]
) -> None:
    for value in ("", "no.such.place:1"):
        monkeypatch.setenv(fault_injection.VARIABLE, value)
        fault_injection.arm_from_environment()
        failpoints.reach("settle.items")
    assert killed == []


def test_the_loop_gives_back_what_the_work_gives() -> None:
    async def work() -> int:
        return 5

    assert run_loop(work()) == 5


def test_work_that_cancels_itself_ends_as_by_ctrl_c() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(KeyboardInterrupt):
        run_loop(work())


async def test_fetching_what_is_no_url_is_a_usage_error() -> None:
    with pytest.raises(RequestInvalid, match="is not an http or https URL"):
        command_plan("example.com")
    async with command_fetcher(command_plan("http://127.0.0.1:9/")) as fetch:
        with pytest.raises(RequestInvalid, match="is not an http or https URL"):
            await fetch("example.com")
