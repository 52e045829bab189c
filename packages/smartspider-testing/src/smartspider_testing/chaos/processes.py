"""The processes of a cluster: `smartspider worker|keeper|api`, each killed, frozen and started by its id."""

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
    """Something that had to happen did not, in the time it had."""


def wait_until(is_so: Callable[[], bool], what: str, within_s: float) -> None:
    """Return when it is so; `WaitTimeout` with what did not happen otherwise."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            raise WaitTimeout(f"not within {within_s:g} s: {what}")
        time.sleep(LOOK_S)


class ClusterProcess:
    """One process of the cluster with its own children; it ends with ours."""

    def __init__(self, name: str, words: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        folder.mkdir(parents=True)
        self.name = name
        self.folder = folder
        self._process = ServerProcess(
            [sys.executable, "-m", "smartspider", *words], folder, environment=environment
        )

    @property
    def pid(self) -> int:
        """Its process id; an error when it does not run."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it lives, frozen or not."""
        return self._process.is_running

    @property
    def log(self) -> str:
        """What it said so far."""
        with contextlib.suppress(OSError):
            return self._process.log.read_text(encoding="utf-8", errors="replace")
        return ""

    def has_logged(self, words: str) -> bool:
        """Whether it wrote this down, here or where its machine keeps logs."""
        logs = (path.read_text(encoding="utf-8", errors="replace") for path in self.folder.rglob("*.jsonl"))
        return words in self.log or any(words in text for text in logs)

    def start(self) -> None:
        """Begin it."""
        self._process.start()

    def kill(self) -> None:
        """`kill -9` of it and its children, at one moment; nothing when it does not run."""
        self._signal(signal.SIGKILL)
        self._process.end(signal.SIGKILL)

    def freeze(self) -> None:
        """SIGSTOP of it and its children."""
        self._signal(signal.SIGSTOP)
        wait_until(lambda: all(map(process_stats.is_stopped, self.pids())), f"{self.name} to be frozen", 5.0)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    def leave(self, within_s: float = 40.0) -> None:
        """SIGTERM, and wait until it has left in good order."""
        self._process.end(signal.SIGTERM, within_s)

    def is_frozen(self) -> bool:
        """Whether it, or a child of it, was stopped."""
        return self.is_running and any(map(process_stats.is_stopped, self.pids()))

    def pids(self) -> list[int]:
        """Its process and its children's."""
        return [self.pid, *process_stats.children(self.pid)] if self.is_running else []

    def memory_bytes(self) -> int:
        """Memory of all of it."""
        return sum(map(process_stats.memory_bytes, self.pids()))

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def log_tail(member: ClusterProcess) -> str:
    """The end of what a process said, for a message."""
    return "".join(f"\n  | {line}" for line in member.log[-TAIL_CHARS:].splitlines())
