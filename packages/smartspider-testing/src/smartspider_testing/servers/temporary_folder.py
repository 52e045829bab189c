"""Temporary folders that are removed even when their process could not."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from pathlib import Path

PREFIX = "smartspider-lent-"
SIGN = "in-use"


class TemporaryFolder:
    """A temporary folder of the machine, ours until `close`; if we die before, others clear it away."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it gets its name: nobody ever finds the sign of a living folder unlocked.
        fresh = self.path / f"{SIGN}.new"
        self._lock = fresh.open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fresh.rename(self.path / SIGN)

    def close(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def clear_away() -> None:
    """Remove the folders whose processes are gone."""
    for sign in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{SIGN}"):
        try:
            with sign.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(sign.parent, ignore_errors=True)
        except OSError:  # in use, gone already, or not ours to touch
            continue
