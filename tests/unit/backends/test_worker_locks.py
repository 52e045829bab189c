from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smartspider.backends.sqlite.worker_locks import FileLock, is_alive
from smartspider.core.errors import StoreUnavailable
from smartspider_testing.waiting import WAIT_S, running

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_held_by_one_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "1.lock"
    first, second = FileLock(path), FileLock(path)
    assert first.acquire()
    assert is_alive(path)
    assert not second.acquire()
    first.release()
    assert not is_alive(path)
    assert second.acquire()
    second.release(remove=True)
    second.release()
    assert not path.exists()
    assert not is_alive(path)


def test_asking_makes_no_file_and_keeps_no_one_from_asking(tmp_path: Path) -> None:
    path = tmp_path / "1.lock"
    assert not is_alive(path)
    assert not path.exists()
    path.touch()
    with path.open("rb") as another:
        fcntl.flock(another, fcntl.LOCK_SH)  # somebody else asks at the same moment
        assert not is_alive(path)


def test_somebody_who_only_asks_does_not_keep_the_lock_from_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "1.lock"
    path.touch()
    asker = os.open(path, os.O_RDONLY)
    fcntl.flock(asker, fcntl.LOCK_SH)
    # the moment in which the other lets go
    monkeypatch.setattr(time, "sleep", lambda _seconds: fcntl.flock(asker, fcntl.LOCK_UN))
    lock = FileLock(path)
    assert lock.acquire()
    lock.release()
    os.close(asker)


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "1.lock"
    with running(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert is_alive(path)
        process.kill()
        process.wait(WAIT_S)
    assert not is_alive(path)


def test_a_process_started_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    """The file is closed on exec: a child that outlives its parent is not taken for it."""
    path = tmp_path / "1.lock"
    lock = FileLock(path)
    lock.acquire()
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        lock.release()
        assert not is_alive(path)
        child.kill()


def test_a_path_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnavailable):
        FileLock(tmp_path / "file" / "1.lock").acquire()
