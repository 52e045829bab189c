"""A wall clock for one process."""

from __future__ import annotations

from pathlib import Path

from smartspider_testing.servers import programs

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the library puts its files there, nobody else chooses it


class FakeClock:
    """A wall clock for a process, offset from the true time; its monotonic clock is unaffected."""

    def __init__(self, folder: Path, offset_s: float) -> None:
        self._library = programs.libfaketime()
        self._file = folder / "clock"
        self.set(offset_s)

    def set(self, offset_s: float) -> None:
        """Change the offset at once, also while the process runs."""
        # One in-place write of constant length: a concurrent reader sees the old or the new value.
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(f"{offset_s:+020.6f}\n".encode())

    def environment(self) -> dict[str, str]:
        """Return the environment that the process must be started with."""
        return {
            # The C library's allocator first: jemalloc reads the time before the library is ready.
            "LD_PRELOAD": f"{self._library}:libc.so.6",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def clean(self, pid: int) -> None:
        """Remove the files that the library leaves behind when its process is killed; a process with the same
        id fails on them.
        """
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            (SHARED_MEMORY / name).unlink(missing_ok=True)
