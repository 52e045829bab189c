"""A small disk that tests fill up."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

from smartspider_testing.servers.errors import NotPossibleHere, ServerFailed
from smartspider_testing.waiting import WAIT_S

GUARD = 'read -r _; umount -l "$1"'
"""Runs in a child process and unmounts when its input ends, also if this process is killed."""


class SmallDisk:
    """A folder in memory with limited space; raise `NotPossibleHere` unless run by root."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self.folder = folder
        self._size_bytes = size_bytes
        self._guard: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Mount it empty."""
        if self._guard is not None:
            raise ServerFailed(f"{self.folder} is mounted already")
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() != 0 or shutil.which("mount") is None:
            raise NotPossibleHere("only root can mount a disk of limited size")
        self._mount("tmpfs", f"size={self._size_bytes},mode=0755")
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "sh", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def _mount(self, source: str, options: str) -> None:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, source, str(self.folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NotPossibleHere(f"a disk of limited size cannot be mounted here: {done.stderr.strip()}")

    @property
    def free_bytes(self) -> int:
        """Return the free space."""
        return shutil.disk_usage(self.folder).free

    def resize(self, size_bytes: int) -> None:
        """Change the size; it can shrink as far as the content fits."""
        self._mount("tmpfs", f"remount,size={size_bytes}")

    def stop(self) -> None:
        """Unmount it and lose its content; do nothing if it is not mounted."""
        if self._guard is None:
            return
        guard, self._guard = self._guard, None
        guard.communicate(timeout=WAIT_S)
        if guard.returncode != 0:
            raise ServerFailed(f"{self.folder} could not be unmounted")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()
