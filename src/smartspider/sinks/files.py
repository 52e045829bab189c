"""A file that appears under its name whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from smartspider.core.errors import StoreUnavailable

_HINTS = {
    errno.ENOSPC: "free some space on the disk, or write to another one",
    errno.EDQUOT: "free some space, your disk quota is used up, or write to another disk",
    errno.EROFS: "choose another folder, this file system is read-only",
    errno.EACCES: "choose a folder you may write to, or change its permissions",
    errno.EPERM: "choose a folder you may write to, or change its permissions",
    errno.ENAMETOOLONG: "choose a shorter name",
}
_BUFFER_BYTES = 1 << 18


class PendingFile:
    """Bytes go to a temporary file beside the target; `commit` puts it in place in one step.

    Missing folders are made, and `abort` takes them away again. A target that is a link stays one: what it
    points to is replaced. Raises `StoreUnavailable` only.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: list[Path] = []
        try:
            with _translated(path):
                _refuse_non_file(path)
                self._target = Path(os.path.realpath(path))
                self._pending = self._target.with_name(f"{_pending_prefix(self._target)}{os.getpid()}")
                self._made = [folder for folder in self._target.parents if not folder.exists()]
                self._target.parent.mkdir(parents=True, exist_ok=True)
                _remove_orphans(self._target)
                self._stream = self._pending.open("wb", buffering=_BUFFER_BYTES)
        except StoreUnavailable:
            self._forget_folders()
            raise

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""
        try:
            self._stream.write(data)
        except OSError as error:  # without `_translated`, which would cost more than the writing
            raise _unavailable(self._path, error) from error

    def commit(self) -> None:
        """Put the file in place, safely on disk."""
        with _translated(self._path):
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._pending.replace(self._target)

    def abort(self) -> None:
        """Leave everything as it was; also after a failed `write` or `commit`."""
        # Closing writes what is buffered, which fails again on a full disk; the file is going away anyhow.
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._pending.unlink(missing_ok=True)
        self._forget_folders()

    def _forget_folders(self) -> None:
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def check_target(path: Path) -> None:
    """Raise `StoreUnavailable` if a file could not be written there. Changes nothing on disk."""
    with _translated(path):
        _refuse_non_file(path)
        folder = next(folder for folder in Path(os.path.realpath(path)).parents if folder.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no permission to write in {folder}")


def _refuse_non_file(path: Path) -> None:
    if path.is_dir():
        hint = f"name a file in it, such as {path / 'items.jsonl'}"
        raise StoreUnavailable(f"{path} is a folder", hint=hint)
    if path.exists() and not path.is_file():
        raise StoreUnavailable(f"{path} is not a regular file", hint="choose another path")


def _pending_prefix(target: Path) -> str:
    return f".{target.name}.tmp-"


def _remove_orphans(target: Path) -> None:
    """Take away what processes that are gone have begun to write beside a target."""
    prefix = _pending_prefix(target)
    with suppress(OSError):  # they are in nobody's way
        for name in os.listdir(target.parent):  # noqa: PTH208 - names are all that is needed
            process = name.removeprefix(prefix)
            if name != process and process.isdecimal() and not _is_alive(int(process)):
                target.with_name(name).unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is there, and somebody else's
        return True
    return True


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unavailable(path, error) from error


def _unavailable(path: Path, error: OSError) -> StoreUnavailable:
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "choose another path")
    return StoreUnavailable(f"{path} cannot be written: {reason}", hint=hint)
