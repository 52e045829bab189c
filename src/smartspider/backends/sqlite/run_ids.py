"""Run ids that do not repeat across the data folders of one parent folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from smartspider.backends.sqlite.database import FILE
from smartspider.backends.sqlite.peek import last_run_id
from smartspider.core.errors import StoreUnavailable

COUNTER = "last-run-id"
LOCK_S = 30.0
"""Time to wait for a process that creates a run; without the lock, the ids in the folders decide."""
_DIGITS = 20
_HIGHEST = 2**40
"""Greater ids were never given: such a counter is damaged."""


class SharedRunIds:
    """1. An id is greater than every id of a run that was created before, also in folders that are deleted by
    now, and than every id in the folders that are there, also in those copied from elsewhere.
    2. From `take` to `commit` or `release` other processes wait, so that they take different ids.
    3. An id that is released is given again.
    4. A counter file that cannot be used keeps no run from being created.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._handle: int | None = None
        self._taken = 0

    def take(self, after: int) -> int:
        """Return the next id, greater than `after`, and lock the counter."""
        if self._handle is None:
            self._handle = _open_locked(self._parent / COUNTER)
        counted = 0 if self._handle is None else _read(self._handle)
        self._taken = max(after, counted, *self._ids_in_folders()) + 1
        return self._taken

    def commit(self) -> None:
        """Count the id that was taken, if any, and let other processes take theirs."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.pwrite(self._handle, f"{self._taken:<{_DIGITS}}\n".encode(), 0)
            self.release()

    def release(self) -> None:
        """Let other processes take ids."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _ids_in_folders(self) -> Iterator[int]:
        yield 0
        for file in self._parent.glob(f"*/{FILE}"):
            with contextlib.suppress(StoreUnavailable):  # damaged or of another format: its ids are unknown
                yield last_run_id(file.parent)


def _open_locked(file: Path) -> int | None:
    """Open the counter and lock it; return None if that is not possible."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    give_up_at = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not isinstance(error, BlockingIOError) or time.monotonic() >= give_up_at:
                os.close(handle)
                return None
            time.sleep(0.002)
        else:
            return handle


def _read(handle: int) -> int:
    """Return the last id in the counter; 0 if there is none."""
    with contextlib.suppress(OSError):
        text = os.pread(handle, _DIGITS, 0).strip()
        if text.isdigit() and int(text) <= _HIGHEST:
            return int(text)
    return 0
