"""A Redis server that tests kill, freeze, roll back and set the clock of."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from smartspider_testing.servers import programs
from smartspider_testing.servers.clock import FakeClock
from smartspider_testing.servers.errors import ServerFailed
from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.process import TIMEOUT_S, ServerProcess
from smartspider_testing.servers.redis.append_only_file import AppendOnlyFile
from smartspider_testing.servers.redis.client import RedisClient, RedisRefused, sections
from smartspider_testing.servers.redis.security import OPEN, RedisSecurity

DEFAULTS = {
    "bind": "127.0.0.1",
    "save": '""',
    "appendonly": "yes",
    "appendfsync": "everysec",
    "aof-load-truncated": "yes",
    "auto-aof-rewrite-percentage": "0",
    "maxmemory-policy": "noeviction",
    "repl-diskless-sync-delay": "0",
    "enable-debug-command": "yes",
}


class RedisServer:
    """A real Redis on 127.0.0.1, as persistent as in production; a context manager, or started by hand.

    The configuration is written once: changes by the server or a Sentinel survive a restart. With
    `clock_offset_s` its wall clock is offset and can be changed while it runs.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int | None = None,
        replica_of: RedisServer | None = None,
        options: Mapping[str, str] | None = None,
        clock_offset_s: float | None = None,
        guard: RedisSecurity = OPEN,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        self.guard = guard
        self._clock = None if clock_offset_s is None else FakeClock(folder, clock_offset_s)
        self._process = ServerProcess(
            [programs.redis_server(), str(self._write_configuration(replica_of, options or {}))],
            folder,
            environment=self._clock.environment() if self._clock else None,
        )
        self._aof = AppendOnlyFile(folder / "appendonlydir")
        self._is_watched = False

    def _write_configuration(self, replica_of: RedisServer | None, options: Mapping[str, str]) -> Path:
        settings = {**DEFAULTS, **self.guard.settings(self.port), "dir": str(self.folder)}
        if self.guard.password:
            settings["masterauth"] = self.guard.password
        if replica_of is not None:
            settings["replicaof"] = f"127.0.0.1 {replica_of.port}"
        settings |= options
        path = self.folder / "redis.conf"
        if not path.exists():
            path.write_text(
                "".join(f"{name} {value}\n" for name, value in settings.items()), encoding="utf-8"
            )
        return path

    @property
    def url(self) -> str:
        """The URL for clients, without a password."""
        scheme = "rediss" if self.guard.encryption else "redis"
        return f"{scheme}://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id; raise if it is not running."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """True while the process is alive, frozen or not."""
        return self._process.is_running

    def start(self) -> Self:
        """Start it with its existing data; return once it answers."""
        self._process.start()
        try:
            self._process.wait_until("answer", self._answers)
        except ServerFailed:
            self.kill()
            raise
        if self._is_watched:
            self._aof.watch()
        return self

    def stop(self) -> None:
        """Save and shut it down; do nothing if it is not running."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL; do nothing if it is not running."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        pid = self.pid if self.is_running else None
        try:
            self._process.end(number)
        finally:
            self._aof.leave()
            if self._clock is not None and pid is not None:
                self._clock.clean(pid)

    def restart(self) -> Self:
        """Stop it if it is running, and start it with the same data on the same port."""
        self.stop()
        return self.start()

    def freeze(self) -> None:
        """Stop the process: the kernel still accepts connections, but nothing is answered."""
        self._process.freeze()

    def resume(self) -> None:
        """Continue a frozen server."""
        self._process.resume()

    def remember_aof(self) -> None:
        """Record the growth of the append-only file from now on, for `cut_aof`."""
        self._is_watched = True
        if self.is_running:
            self._aof.watch()

    def cut_aof(self, seconds: float) -> int:
        """Drop what was appended in the last `seconds` before the server ended, as a power cut does.

        Return the number of lost bytes. The server must be down and `remember_aof` must have been called.
        """
        if self.is_running or not self._is_watched:
            raise ServerFailed("cut_aof needs remember_aof before, and a server that was killed or stopped")
        return self._aof.cut(seconds)

    def set_clock(self, offset_s: float) -> None:
        """Set the wall clock to `offset_s` from the true time."""
        if self._clock is None:
            raise ServerFailed("this server has the true clock: give clock_offset_s to begin with")
        self._clock.set(offset_s)

    def command(self, *words: str | bytes | float) -> object:
        """Send a command over a connection of its own."""
        with RedisClient(self.port, guard=self.guard) as connection:
            return connection(*words)

    def info(self, section: str) -> dict[str, str]:
        """Return a section of INFO."""
        return sections(self.command("INFO", section))

    def empty(self) -> None:
        """Delete all data and functions, and reset the statistics."""
        with RedisClient(self.port, guard=self.guard) as connection:
            for words in (("FLUSHALL", "SYNC"), ("FUNCTION", "FLUSH", "SYNC"), ("CONFIG", "RESETSTAT")):
                connection(*words)

    def cpu_s(self) -> float:
        """Return the CPU seconds so far, including earlier starts."""
        if not self.is_running:
            return self._process.ended_cpu_s
        figures = self.info("cpu")
        spent = sum(float(value) for name, value in figures.items() if not name.endswith("main_thread"))
        return self._process.ended_cpu_s + spent

    def memory_bytes(self) -> int:
        """Return the memory in use for data and buffers."""
        return int(self.info("memory")["used_memory"])

    def wait_for_replica(self) -> None:
        """Return once this replica is in sync with its master."""
        self.wait_until("follow its master", self._follows)

    def wait_until(self, what: str, is_so: Callable[[], bool], within_s: float = TIMEOUT_S) -> None:
        """Return once `is_so()`; raise an error that names `what`, with the end of the log."""
        self._process.wait_until(what, is_so, within_s)

    def _follows(self) -> bool:
        return self.info("replication").get("master_link_status") == "up"

    def _answers(self) -> bool:
        try:
            return self.command("PING") == b"PONG"
        except (OSError, RedisRefused):  # not listening yet, or still loading
            return False

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.kill()
