"""Temporary folders that are removed even if their process is killed."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from pathlib import Path

PREFIX = "smartspider-lent-"
SIGN = "in-use"


class TemporaryFolder:
    """A temporary folder, locked until `close`; after a crash the next process removes it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it gets its name: the marker of a folder in use is never unlocked.
        fresh = self.path / f"{SIGN}.new"
        self._lock = fresh.open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fresh.rename(self.path / SIGN)

    def close(self) -> None:
        """Remove it with its content."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def clear_away() -> None:
    """Remove the folders of processes that have ended."""
    for sign in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{SIGN}"):
        try:
            with sign.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(sign.parent, ignore_errors=True)
        except OSError:  # in use, already gone, or owned by another user
            continue
