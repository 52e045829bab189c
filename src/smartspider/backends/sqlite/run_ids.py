"""Run ids that do not repeat across the data folders of one parent folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.peek import last_run_id
from smartspider.core.errors import StoreUnavailable

COUNTER = "last-run-id"
LOCK_S = 5.0
"""Time to wait for a process that takes an id; one that is stopped in between is not waited for longer."""
_DIGITS = 20


class SharedRunIds:
    """1. An id is greater than every id that was taken before, also for folders that are deleted by now, and
    than every id in the folders that are there, also in those copied from elsewhere.
    2. Concurrent processes take different ids.
    3. A counter file that cannot be used delays no run: the ids in the folders decide.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def take(self, after: int) -> int:
        """Return the next id, greater than `after`."""
        with _locked(self._parent / COUNTER) as handle:
            taken = max(after, _read(handle), *self._ids_in_folders()) + 1
            if handle is not None:
                with contextlib.suppress(OSError):
                    os.pwrite(handle, f"{taken:<{_DIGITS}}\n".encode(), 0)
            return taken

    def _ids_in_folders(self) -> Iterator[int]:
        yield 0
        for file in self._parent.glob(f"*/{FILE}"):
            with contextlib.suppress(StoreUnavailable):  # damaged or of another format: its ids are unknown
                yield last_run_id(file.parent)


@contextmanager
def _locked(file: Path) -> Iterator[int | None]:
    """Open the counter and lock it; yield None if that is not possible."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield None
        return
    try:
        yield handle if _lock(handle) else None
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    give_up_at = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_at:
                return False
            time.sleep(0.002)
        except OSError:
            return False
        else:
            return True


def _read(handle: int | None) -> int:
    """Return the last id in the counter; 0 if there is none."""
    if handle is None:
        return 0
    with contextlib.suppress(OSError):
        text = os.pread(handle, _DIGITS, 0).strip()
        if text.isdigit():
            return int(text)
    return 0
