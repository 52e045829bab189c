"""The lossy filter of a data folder: bits in mapped files that all processes of the machine share.

A power failure may lose a commit while bits set after it are on the disk. So bits are valid only until the
machine restarts; then the filter starts empty and the store is asked.
"""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import os
import shutil
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from smartspider.core.errors import StoreUnavailable
from smartspider.dedup.bloom import FIRST_CAPACITY, Bits, ScalableBloomFilter, capacity_of, size_of
from smartspider.dedup.url_filter import FilterAddition, FilterKey, FilterSize, StoredUrls, parse_filter_key

FOLDER = "known-urls"
BUDGET = 256_000_000
HEAD = "head"
_LAYOUT = struct.Struct("<?40sQQQ")
"""Dropped flag, boot id, capacity of the first filter, number of filters, keys in the last one."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")

T = TypeVar("T")


class FolderBloomFilter:
    """A lossy filter, see `dedup/url_filter.py`; days are not kept.

    With `rows`, on first use of a run it drops the run if it knows more URLs than the run has rows. Filters
    of another `boot` of the machine are emptied: its last commits may be lost.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = BUDGET,
        rows: StoredUrls | None = None,
        boot: str | None = None,
    ) -> None:
        self._folder = folder / FOLDER
        self._boot = boot_id() if boot is None else boot
        self._rows = rows
        self._compared: set[FilterKey] = set()
        self._max_bytes = max_bytes
        self._opened: dict[FilterKey, MappedBloom] = {}
        self._lock = threading.Lock()

    async def find_known(
        self, key: FilterKey, fingerprints: Sequence[bytes], *, since_day: int = 0
    ) -> set[bytes]:
        """Return the added fingerprints and a few false positives; days are ignored."""
        del since_day
        await self._compare(key)

        def ask() -> set[bytes]:
            mapped = self._mapped(key, creates=False)
            return set() if mapped is None else mapped.find_known(fingerprints)

        return await self._aside(ask)

    async def add(self, key: FilterKey, fingerprints: Sequence[bytes], *, day: int = 0) -> FilterAddition:
        """Add fingerprints whose rows are committed."""
        del day
        await self._compare(key)

        def tell() -> FilterAddition:
            if not fingerprints:
                return FilterAddition(0, 0, self._size())
            mapped = self._mapped(key, creates=True)
            new, refused = mapped.add(fingerprints, self._has_room) if mapped else (0, len(fingerprints))
            return FilterAddition(new, refused, self._size())

        return await self._aside(tell)

    async def drop(self, key: FilterKey) -> None:
        """Drop all fingerprints of a key."""

        def drop() -> None:
            mapped = self._mapped(key, creates=False)
            if mapped is not None:
                mapped.drop()
                self._opened.pop(key).close()

        await self._aside(drop)

    async def count(self, key: FilterKey) -> int:
        """Return how many fingerprints were added under a key, false positives excluded."""

        def look() -> int:
            mapped = self._mapped(key, creates=False)
            return 0 if mapped is None else mapped.count

        return await self._aside(look)

    async def keys(self) -> list[FilterKey]:
        """Return all keys."""
        names = [path.parent.name for path in self._folder.glob(f"*/{HEAD}")]
        return sorted(key for key in map(parse_filter_key, names) if key is not None)

    async def size(self) -> FilterSize:
        """Return the size on disk, which is also that in memory. Filters are allocated whole."""
        return await self._aside(self._size)

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        for mapped in self._opened.values():
            mapped.close()
        self._opened.clear()

    async def _compare(self, key: FilterKey) -> None:
        """Drop a key that disagrees with the database, which may be another one or an older copy."""
        if self._rows is None or key in self._compared or key.kind != "run":
            return
        count = await self.count(key)  # before the rows are counted, whose number may grow
        if count > (await self._rows.totals([key.id])).get(key.id, 0):
            await self.drop(key)
        self._compared.add(key)

    async def _aside(self, work: Callable[[], T]) -> T:
        """Run in a thread, one call at a time."""

        def locked() -> T:
            with self._lock:
                try:
                    return work()
                except OSError as error:
                    self._let_go()
                    raise StoreUnavailable(
                        f"the URL filter in {self._folder} cannot be used: {error.strerror or error}",
                        hint="check the data folder",
                    ) from error

        return await asyncio.to_thread(locked)

    def _mapped(self, key: FilterKey, *, creates: bool) -> MappedBloom | None:
        mapped = self._opened.get(key)
        if mapped is not None and mapped.is_dropped:
            self._opened.pop(key).close()
            mapped = None
        path = self._folder / str(key)
        if mapped is None and (creates or (path / HEAD).exists()):
            mapped = MappedBloom(path, self._boot)
            self._opened[key] = mapped
        return mapped

    def _size(self) -> FilterSize:
        used = sum(path.stat().st_size for path in self._folder.glob("*/*.bits"))
        return FilterSize(0, used, self._max_bytes)

    def _has_room(self, size: int) -> bool:
        return self._size().bytes_used + size <= self._max_bytes


class MappedBloom:
    """The filter of one key in files. Adding takes a lock; queries need none."""

    def __init__(self, path: Path, boot: str) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path, self._boot = path, boot
        self._file = os.open(path / HEAD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with self._locked():
            is_new = os.fstat(self._file).st_size < _LAYOUT.size
            os.posix_fallocate(self._file, 0, _LAYOUT.size)
            self._head = mmap.mmap(self._file, _LAYOUT.size)
            if is_new or self._written_boot != boot:
                for old in path.glob("*.bits"):
                    old.unlink()
                self._write(FIRST_CAPACITY, 0, 0)
        self._bits: list[mmap.mmap] = []
        self._bloom = ScalableBloomFilter(self._first)
        self._seen = (0, 0)

    def find_known(self, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the fingerprints added by any process, and a few false positives."""
        self._catch_up()
        return self._bloom.find_known(fingerprints)

    def add(self, fingerprints: Sequence[bytes], has_room: Callable[[int], bool]) -> tuple[int, int]:
        """Add fingerprints; return how many were new and how many did not fit."""

        def allocate(number: int, size: int) -> Bits | None:
            return self._map(number, size, creates=True) if has_room(size) else None

        with self._locked():
            if self.is_dropped:  # another process dropped it; the addition is lost
                return 0, 0
            self._catch_up()
            self._bloom.allocate = allocate
            counts = self._bloom.add(fingerprints)
            self._seen = (len(self._bits), self._bloom.newest)
            self._write(self._first, *self._seen)
            return counts

    @property
    def count(self) -> int:
        """Number of fingerprints added by any process."""
        filters, newest = _LAYOUT.unpack_from(self._head)[3:]
        return int(newest) + sum(capacity_of(number, self._first) for number in range(filters - 1))

    @property
    def is_dropped(self) -> bool:
        """True if a process dropped it."""
        return bool(_LAYOUT.unpack_from(self._head)[0])

    def drop(self) -> None:
        """Mark it as dropped, visible to all processes at once."""
        with self._locked():
            self._head[0] = 1
            shutil.rmtree(self._path, ignore_errors=True)

    def close(self) -> None:
        """Close the files."""
        self._bloom = ScalableBloomFilter(self._first)
        for bits in self._bits:
            bits.close()
        self._head.close()
        os.close(self._file)

    @property
    def _written_boot(self) -> str:
        boot: bytes = _LAYOUT.unpack_from(self._head)[1]
        return boot.rstrip(b"\0").decode("ascii", "replace")

    @property
    def _first(self) -> int:
        return int(_LAYOUT.unpack_from(self._head)[2])

    def _write(self, first: int, filters: int, newest: int) -> None:
        _LAYOUT.pack_into(self._head, 0, False, self._boot.encode(), first, filters, newest)

    def _catch_up(self) -> None:
        """Map filters that other processes added."""
        filters, newest = _LAYOUT.unpack_from(self._head)[3:]
        if (filters, newest) == self._seen:
            return
        for number in range(len(self._bits), filters):
            self._map(number, size_of(capacity_of(number, self._first)), creates=False)
        self._bloom.open(self._bits, newest)
        self._seen = (filters, newest)

    def _map(self, number: int, size: int, *, creates: bool) -> mmap.mmap | None:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if creates else 0)
        file = os.open(self._path / f"{number}.bits", flags, 0o600)
        try:
            # Allocated whole: writing to a hole of a mapped file on a full disk would kill the process.
            os.posix_fallocate(file, 0, size)
            bits = mmap.mmap(file, size)
        except OSError:
            if not creates:
                raise
            (self._path / f"{number}.bits").unlink(missing_ok=True)
            return None
        finally:
            os.close(file)
        self._bits.append(bits)
        return bits

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def boot_id() -> str:
    """Return an id that changes with each start of the machine; if the system has none, with each process."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()[:40]
    except OSError:
        return f"process {os.getpid()}"
