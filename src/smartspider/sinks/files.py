"""A file that appears under its name whole, or not at all."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from smartspider.core.errors import StoreUnavailable
from smartspider.sinks.compression import compressor

_HINTS = {
    errno.ENOSPC: "free some space on the disk, or write to another one",
    errno.EDQUOT: "free some space, your disk quota is used up, or write to another disk",
    errno.EROFS: "choose another folder, this file system is read-only",
    errno.EACCES: "choose a folder you may write to, or change its permissions",
    errno.EPERM: "choose a folder you may write to, or change its permissions",
    errno.ENAMETOOLONG: "choose a shorter name",
}
_BUFFER_BYTES = 1 << 18
_SCRATCH = "-scratch"


class PendingFile:
    """Bytes go to a temporary file beside the target; `commit` puts it in place in one step.

    Missing folders are made, and `abort` takes them away again. A target that is a link stays one: what it
    points to is replaced. Raises `StoreUnavailable` only.
    """

    def __init__(self, path: Path, compression: str | None = None, *, sweeps: bool = True) -> None:
        self._path = path
        self._made: list[Path] = []
        self._written = 0
        try:
            with translated(path):
                _refuse_non_file(path)
                self._target = Path(os.path.realpath(path))
                self.pending = self._target.with_name(f"{_pending_prefix(self._target.name)}{os.getpid()}")
                self.scratch = self.pending.with_name(self.pending.name + _SCRATCH)
                self._made = [folder for folder in self._target.parents if not folder.exists()]
                self._target.parent.mkdir(parents=True, exist_ok=True)
                if sweeps:
                    remove_orphans(self._target.parent, re.escape(self._target.name))
                self.stream = self.pending.open("wb", buffering=_BUFFER_BYTES)
                self._packed = packed(self.stream, compression)
        except StoreUnavailable:
            self._forget_folders()
            raise

    def write(self, data: bytes) -> None:
        """Add bytes at the end."""
        self._written += len(data)
        try:
            self._packed.write(data)
        except OSError as error:  # without `translated`, which would cost more than the writing
            raise self.unavailable(error) from error

    def unavailable(self, error: OSError) -> StoreUnavailable:
        """What an error of the operating system means for this file."""
        return _unavailable(self._path, error)

    def size(self) -> int:
        """Bytes written so far, before compression."""
        return self._written

    def make_scratch(self) -> Path:
        """A folder beside the pending file for what is only needed on the way; it goes with it."""
        with translated(self._path):
            self.scratch.mkdir(exist_ok=True)
        return self.scratch

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Begin anew; what was written so far can be read at the path until the end of the block."""
        with translated(self._path):
            self.stream.close()
            before = self.make_scratch() / "before"
            self.pending.replace(before)
            self.stream = self._packed = self.pending.open("wb", buffering=_BUFFER_BYTES)
            yield before
            before.unlink()

    def seal(self) -> None:
        """Put everything safely on disk, still under the pending name."""
        with translated(self._path):
            if self._packed is not self.stream:
                self._packed.close()
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.stream.close()

    def commit(self) -> None:
        """Put the file in place."""
        if not self.stream.closed:
            self.seal()
        with translated(self._path):
            self.pending.replace(self._target)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def abort(self) -> None:
        """Leave everything as it was; also after a failed `write` or `commit`."""
        # Closing writes what is buffered, which fails again on a full disk; the file is going away anyhow.
        for stream in (self._packed, self.stream):
            with suppress(OSError, ValueError):
                stream.close()
        with suppress(OSError):
            self.pending.unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._forget_folders()

    def _forget_folders(self) -> None:
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def check_target(path: Path) -> None:
    """Raise `StoreUnavailable` if a file could not be written there. Changes nothing on disk."""
    with translated(path):
        _refuse_non_file(path)
        folder = next(folder for folder in Path(os.path.realpath(path)).parents if folder.exists())
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"no permission to write in {folder}")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """What the operating system says about a file becomes `StoreUnavailable`."""
    try:
        yield
    except OSError as error:
        raise _unavailable(path, error) from error


def remove_orphans(folder: Path, names: str) -> None:
    """Take away what processes that are gone have begun to write beside targets; `names` is a regex."""
    orphan = re.compile(rf"\.(?:{names})\.tmp-([0-9]+)(?:{_SCRATCH})?")
    with suppress(OSError):  # they are in nobody's way
        for name in os.listdir(folder):  # noqa: PTH208 - names are all that is needed
            found = orphan.fullmatch(name)
            if found and not _is_alive(int(found[1])):
                path = folder / name
                if name.endswith(_SCRATCH):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


def packed(stream: IO[bytes], compression: str | None) -> IO[bytes]:
    """A stream that compresses into another one; without a compression the stream itself."""
    if compression is None:
        return stream
    # Rows are small, and a call of a compressor is dear.
    packing = cast("io.RawIOBase", compressor(compression, stream))
    return io.BufferedWriter(packing, _BUFFER_BYTES)


def _refuse_non_file(path: Path) -> None:
    if path.is_dir():
        hint = f"name a file in it, such as {path / 'items.jsonl'}"
        raise StoreUnavailable(f"{path} is a folder", hint=hint)
    if path.exists() and not path.is_file():
        raise StoreUnavailable(f"{path} is not a regular file", hint="choose another path")


def _pending_prefix(name: str) -> str:
    return f".{name}.tmp-"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it is there, and somebody else's
        return True
    return True


def _unavailable(path: Path, error: OSError) -> StoreUnavailable:
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "choose another path")
    return StoreUnavailable(f"{path} cannot be written: {reason}", hint=hint)
