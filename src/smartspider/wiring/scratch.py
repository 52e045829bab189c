"""Temporary folders; those of killed processes are removed."""

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
    """Temporary folders inside a folder, each removed at the end of its block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.sweep()

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Create a folder. The lock file beside it marks it as in use while this process lives."""
        while True:
            path = self._path / uuid.uuid4().hex
            lock = FileLock(path.with_name(path.name + _LOCK))
            if lock.acquire():  # else a concurrent sweep locked the file first
                break
        try:
            try:
                path.mkdir()
            except OSError as error:
                raise StoreUnavailable(
                    f"cannot create {path}: {error.strerror or error}",
                    hint="check permissions and free space of the data folder",
                ) from error
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            lock.release(remove=True)

    def sweep(self) -> None:
        """Remove the folders of processes that ended."""
        for file in self._path.glob(f"*{_LOCK}"):
            lock = FileLock(file)
            if lock.acquire():
                shutil.rmtree(file.with_name(file.name.removesuffix(_LOCK)), ignore_errors=True)
                lock.release(remove=True)
