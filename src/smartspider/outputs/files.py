"""Output files: written whole or not at all, or streamed; compressed by a second suffix such as `.gz`."""

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

from smartspider.core.errors import RequestInvalid, StoreUnavailable

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
    """A temporary file beside the target; `commit` renames it to the target.

    Missing folders are created, and removed by `abort`. If the target is a symbolic link, the file it
    points to is replaced. Raises only `StoreUnavailable`.
    """

    def __init__(self, path: Path, compression: str | None = None, *, sweeps: bool = True) -> None:
        self._path = path
        self._made: list[Path] = []
        self._written = 0
        try:
            with os_errors(path):
                _refuse_non_file(path)
                self._target = Path(os.path.realpath(path))
                self.pending = self._target.with_name(f"{_pending_prefix(self._target.name)}{os.getpid()}")
                self.scratch = self.pending.with_name(self.pending.name + _SCRATCH)
                self._made = [folder for folder in self._target.parents if not folder.exists()]
                self._target.parent.mkdir(parents=True, exist_ok=True)
                if sweeps:
                    remove_orphans(self._target.parent, re.escape(self._target.name))
                self.stream = self.pending.open("wb", buffering=_BUFFER_BYTES)
                self._compressed = open_compressed(self.stream, compression)
        except StoreUnavailable:
            self._remove_folders()
            raise

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._written += len(data)
        try:
            self._compressed.write(data)
        except OSError as error:  # `os_errors` would cost more than the write
            raise self.unavailable(error) from error

    def unavailable(self, error: OSError) -> StoreUnavailable:
        """Return the error to raise for an error of the operating system."""
        return _unavailable(self._path, error)

    def size(self) -> int:
        """Return the bytes written so far, before compression."""
        return self._written

    def make_scratch(self) -> Path:
        """Create a scratch folder beside the temporary file; it is removed with it."""
        with os_errors(self._path):
            self.scratch.mkdir(exist_ok=True)
        return self.scratch

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Start the file again; yield the path of the previous content, which is deleted afterwards."""
        with os_errors(self._path):
            self.stream.close()
            before = self.make_scratch() / "before"
            self.pending.replace(before)
            self.stream = self._compressed = self.pending.open("wb", buffering=_BUFFER_BYTES)
            yield before
            before.unlink()

    def seal(self) -> None:
        """Flush everything to disk, still under the temporary name."""
        with os_errors(self._path):
            if self._compressed is not self.stream:
                self._compressed.close()
            self.stream.flush()
            os.fsync(self.stream.fileno())
            self.stream.close()

    def commit(self) -> None:
        """Rename the file to the target."""
        if not self.stream.closed:
            self.seal()
        with os_errors(self._path):
            self.pending.replace(self._target)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def abort(self) -> None:
        """Remove the file and the folders created for it; also after a failed `write` or `commit`."""
        # Closing flushes buffers, which fails again on a full disk; the file is removed anyway.
        for stream in (self._compressed, self.stream):
            with suppress(OSError, ValueError):
                stream.close()
        with suppress(OSError):
            self.pending.unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self._remove_folders()

    def _remove_folders(self) -> None:
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()


def check_target(path: Path) -> None:
    """Raise `RequestInvalid` if a file cannot be written at a path. Leaves nothing behind."""
    try:
        with os_errors(path):
            _refuse_non_file(path)
            target = Path(os.path.realpath(path))
            folder = next(folder for folder in target.parents if folder.exists())
            if not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
            # A permission does not tell whether the file system takes a file of this name.
            probe = folder / f"{_pending_prefix(target.name)}{os.getpid()}"
            probe.open("wb").close()
            probe.unlink()
    except StoreUnavailable as error:
        raise RequestInvalid(error.message, hint=error.hint) from error


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into `StoreUnavailable`."""
    try:
        yield
    except OSError as error:
        raise _unavailable(path, error) from error


def remove_orphans(folder: Path, names: str) -> None:
    """Remove temporary files of processes that have ended; `names` is a regular expression."""
    orphan = re.compile(rf"\.(?:{names})\.tmp-([0-9]+)(?:{_SCRATCH})?")
    with suppress(OSError):  # leftovers do no harm
        for name in os.listdir(folder):  # noqa: PTH208 - names are all that is needed
            found = orphan.fullmatch(name)
            if found and not _is_alive(int(found[1])):
                path = folder / name
                if name.endswith(_SCRATCH):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()


def open_compressed(stream: IO[bytes], compression: str | None) -> IO[bytes]:
    """Wrap a stream in a compressor; return the stream itself without a compression."""
    if compression is None:
        return stream
    # Rows are small and calls of a compressor are expensive, so buffer.
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
    except OSError:  # it exists and belongs to another user
        return True
    return True


def _unavailable(path: Path, error: OSError) -> StoreUnavailable:
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "choose another path")
    return StoreUnavailable(f"{path} cannot be written: {reason}", hint=hint)


class StreamedFile:
    """Buffers a file that is sent while it is written. The name of `path` selects the compression."""

    def __init__(self, path: Path) -> None:
        self.stream = io.BytesIO()
        self._compressed = open_compressed(self.stream, compression_of(path))
        self._written = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._written += len(data)
        self._compressed.write(data)

    def take(self) -> bytes:
        """Remove and return the buffered bytes; the compressor may hold back more."""
        data = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return data

    def size(self) -> int:
        """Return the bytes written so far, before compression."""
        return self._written

    def seal(self) -> None:
        """Flush the compressor."""
        if self._compressed is not self.stream:
            self._compressed.close()

    def commit(self) -> None:
        """Do nothing: the bytes have been taken."""

    def abort(self) -> None:
        """Do nothing: there is no file to remove."""


COMPRESSIONS = {
    "gz": "application/gzip",
    "zst": "application/zstd",
    "bz2": "application/x-bzip2",
    "xz": "application/x-xz",
}
"""The media types of compressed files, by suffix."""


def compression_of(path: Path) -> str | None:
    """Return the compression that a file name selects."""
    suffix = path.suffix.removeprefix(".").lower()
    return suffix if suffix in COMPRESSIONS else None


def compressor(name: str, stream: IO[bytes]) -> IO[bytes]:
    """Open a stream that compresses into another one. Closing it leaves the other one open."""
    match name:
        case "gz":
            import gzip

            return cast("IO[bytes]", gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0))
        case "bz2":
            import bz2

            return bz2.BZ2File(stream, "wb")
        case "xz":
            import lzma

            return lzma.LZMAFile(stream, "wb", preset=3)  # higher presets take up to 700 MB
        case _:
            return _zstd(stream)


def _zstd(stream: IO[bytes]) -> IO[bytes]:
    try:
        from compression.zstd import ZstdFile  # type: ignore[import-not-found,unused-ignore] # Python 3.14
    except ImportError:
        from backports.zstd import ZstdFile
    made: IO[bytes] = ZstdFile(stream, "wb")
    return made
