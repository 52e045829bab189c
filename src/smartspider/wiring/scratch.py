"""Room for files that are only needed for a while. What a killed process left behind is swept away."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider.backends.sqlite.worker_locks import FileLock
from smartspider.core.errors import StoreUnavailable

_LOCK = ".lock"


class Scratch:
    """Folders in a folder, each gone with the block it is used in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.sweep()

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new folder. The lock beside it says that somebody still uses it, as long as they live."""
        while True:
            path = self._path / uuid.uuid4().hex
            lock = FileLock(path.with_name(path.name + _LOCK))
            if lock.acquire():  # else somebody who sweeps saw the file before it was locked
                break
        try:
            try:
                path.mkdir()
            except OSError as error:
                raise StoreUnavailable(
                    f"{path} cannot be made: {error.strerror or error}",
                    hint="check the data folder's permissions and free space",
                ) from error
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            lock.release(remove=True)

    def sweep(self) -> None:
        """Take away what nobody alive uses."""
        for file in self._path.glob(f"*{_LOCK}"):
            lock = FileLock(file)
            if lock.acquire():
                shutil.rmtree(file.with_name(file.name.removesuffix(_LOCK)), ignore_errors=True)
                lock.release(remove=True)
