"""A clock of its own for one process."""

from __future__ import annotations

from pathlib import Path

from smartspider_testing.servers import programs

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the library puts its files there, nobody else chooses it


class FakeClock:
    """The wall clock of a process, so many seconds beside the true one; its monotonic clock stays true."""

    def __init__(self, folder: Path, offset_s: float) -> None:
        self._library = programs.libfaketime()
        self._file = folder / "clock"
        self.set(offset_s)

    def set(self, offset_s: float) -> None:
        """Jump to another distance from the true time, at once and also while the process runs."""
        # One write of always the same length, in place: whoever reads meanwhile sees the old or the new.
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(f"{offset_s:+020.6f}\n".encode())

    def environment(self) -> dict[str, str]:
        """What the process must be started with."""
        return {
            # The C library's allocator first: jemalloc asks for the time before the library can tell it.
            "LD_PRELOAD": f"{self._library}:libc.so.6",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def clean(self, pid: int) -> None:
        """Remove what the library leaves behind when its process is killed; the next one of that id trips."""
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            (SHARED_MEMORY / name).unlink(missing_ok=True)
