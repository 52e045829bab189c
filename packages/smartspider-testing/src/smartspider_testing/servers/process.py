"""A server process, started, monitored and ended by its id."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from smartspider_testing.servers import process_stats, programs
from smartspider_testing.servers.errors import ServerFailed
from smartspider_testing.waiting import WAIT_S

TIMEOUT_S = WAIT_S
TAIL_LINES = 15


class ServerProcess:
    """A process that ends with this one, even on SIGKILL, and writes its own log."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = Path(command[0]).name
        self.log = folder / f"{self.name}.log"
        self._command = list(command)
        self._folder = folder
        self._user = user
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._ended_cpu_s = 0.0

    @property
    def pid(self) -> int:
        """The process id; raise if it is not running."""
        if self._process is None:
            raise ServerFailed(f"{self.name} in {self._folder} is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """True from the start until the process ends; a frozen process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        if self.is_running:
            raise ServerFailed(f"{self.name} in {self._folder} is running already")
        self._forget()
        self._process = _starter(os.getpid()).submit(self._spawn).result(TIMEOUT_S)

    def _spawn(self) -> subprocess.Popen[bytes]:
        # Set by `env`, as the user of the process: what is preloaded must not begin as another one.
        own = ["env", *(f"{name}={value}" for name, value in self._environment.items())]
        command = [*as_user(self._user), "--pdeathsig", "KILL", "--", *own, *self._command]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for this process, which then stops the server
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.is_running:
            os.kill(self.pid, number)

    def freeze(self) -> None:
        """Stop the process; it stays connected and answers nothing."""
        self.send(signal.SIGSTOP)
        self.wait_until("be frozen", lambda: process_stats.is_stopped(self.pid))

    def resume(self) -> None:
        """Continue a frozen process."""
        self.send(signal.SIGCONT)

    def end(self, number: signal.Signals, within_s: float = TIMEOUT_S) -> None:
        """Send a signal and wait for the end; do nothing if it has ended already."""
        if self._process is None:
            return
        self._ended_cpu_s += process_stats.family_cpu_s(self.pid)
        self.send(number)
        self.resume()  # a frozen process reacts to no signal but KILL
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(TIMEOUT_S)
            self._forget()
            raise self.failure(f"did not end within {within_s:g} s of {number.name}") from None
        self._forget()

    def _forget(self) -> None:
        if self._process is not None:
            self._process.wait(TIMEOUT_S)
            self._process = None

    def cpu_s(self) -> float:
        """Return the CPU seconds of this process and its children, including earlier starts."""
        return self._ended_cpu_s + (process_stats.family_cpu_s(self.pid) if self.is_running else 0.0)

    @property
    def ended_cpu_s(self) -> float:
        """Return the CPU seconds of earlier starts."""
        return self._ended_cpu_s

    def wait_until(self, what: str, is_so: Callable[[], bool], within_s: float = TIMEOUT_S) -> None:
        """Return once `is_so()`; raise an error that names `what` after `within_s`."""
        for _ in _polls(within_s):
            if is_so():
                return
            if not self.is_running:
                raise self.failure(f"did not {what}, it has ended")
        raise self.failure(f"did not {what} within {within_s:g} s")

    def failure(self, what: str) -> ServerFailed:
        """Return an error with the end of the log."""
        return ServerFailed(f"{self.name} in {self._folder} {what}{_log_tail(self.log)}")


def as_user(user: str | None) -> list[str]:
    """Return the command prefix that runs a program as another user in the same process."""
    words = [programs.setpriv()]
    if user is not None:
        entry = pwd.getpwnam(user)
        words += [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    return words


def wait_until_gone(pids: Sequence[int]) -> None:
    """Return once none of the processes is running."""
    for _ in _polls(TIMEOUT_S):
        if not any(map(process_stats.is_alive, pids)):
            return
    raise ServerFailed(f"of the processes {list(pids)} some live on after {TIMEOUT_S:g} s")


def _polls(within_s: float) -> Iterator[None]:
    """Yield at once, then at increasing intervals, until the time has passed."""
    deadline = time.monotonic() + within_s
    pause_s = 0.002
    yield
    while time.monotonic() < deadline:
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.05)
        yield


def _log_tail(log: Path) -> str:
    """Return the last lines of a log, for messages."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:]
    except OSError:
        lines = []
    return "".join(f"\n  | {line}" for line in lines) or " (its log is empty)"


@cache
def _starter(pid: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a fork has no threads and needs another one
    """Return the thread that starts all servers: the kernel ends them with it, so it lives as long as the
    process.
    """
    return ThreadPoolExecutor(1, thread_name_prefix="servers")
