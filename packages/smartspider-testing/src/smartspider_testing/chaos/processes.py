"""The processes of a cluster: `smartspider worker|keeper|api`, each started, frozen and killed by its id."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from smartspider_testing.servers import process_stats
from smartspider_testing.servers.process import ServerProcess

LOOK_S = 0.02
TAIL_CHARS = 1_500
ADMIN_TOKEN = "the-token-of-a-cluster-that-is-thrown-away"  # noqa: S105 - it opens nothing


class WaitTimeout(Exception):
    """A condition did not become true in time."""


def wait_until(is_so: Callable[[], bool], what: str, within_s: float) -> None:
    """Return once `is_so()`; raise `WaitTimeout` that names `what` after `within_s`."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            raise WaitTimeout(f"not within {within_s:g} s: {what}")
        time.sleep(LOOK_S)


class ClusterProcess:
    """A process of the cluster with its children; it ends with this process."""

    def __init__(self, name: str, words: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        folder.mkdir(parents=True)
        self.name = name
        self.folder = folder
        self._process = ServerProcess(
            [sys.executable, "-m", "smartspider", *words], folder, environment=environment
        )

    @property
    def pid(self) -> int:
        """Its process id; raise if it is not running."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """True while it is alive, frozen or not."""
        return self._process.is_running

    @property
    def log(self) -> str:
        """Its output so far."""
        with contextlib.suppress(OSError):
            return self._process.log.read_text(encoding="utf-8", errors="replace")
        return ""

    def has_logged(self, words: str) -> bool:
        """Return True if its output or one of its log files contains `words`."""
        logs = (path.read_text(encoding="utf-8", errors="replace") for path in self.folder.rglob("*.jsonl"))
        return words in self.log or any(words in text for text in logs)

    def start(self) -> None:
        """Start the process."""
        self._process.start()

    def kill(self) -> None:
        """Send SIGKILL to it and its children; do nothing if it is not running."""
        self._signal(signal.SIGKILL)
        self._process.end(signal.SIGKILL)

    def freeze(self) -> None:
        """Send SIGSTOP to it and its children, and wait until they have stopped."""
        self._signal(signal.SIGSTOP)
        wait_until(lambda: all(map(process_stats.is_stopped, self.pids())), f"{self.name} to be frozen", 5.0)

    def resume(self) -> None:
        """Send SIGCONT to it and its children."""
        self._signal(signal.SIGCONT)

    def terminate(self, within_s: float = 40.0) -> None:
        """Send SIGTERM and wait until it has ended."""
        self._process.end(signal.SIGTERM, within_s)

    def is_frozen(self) -> bool:
        """Return True if it or one of its children is stopped."""
        return self.is_running and any(map(process_stats.is_stopped, self.pids()))

    def pids(self) -> list[int]:
        """Return the ids of its process and its children."""
        return [self.pid, *process_stats.children(self.pid)] if self.is_running else []

    def memory_bytes(self) -> int:
        """Return the memory of the process and its children."""
        return sum(map(process_stats.memory_bytes, self.pids()))

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def log_tail(process: ClusterProcess) -> str:
    """Return the end of a process's output, for messages."""
    return "".join(f"\n  | {line}" for line in process.log[-TAIL_CHARS:].splitlines())
