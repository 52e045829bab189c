"""A Redis master with a replica, monitored by Sentinels."""

from __future__ import annotations

import secrets
import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from smartspider_testing.servers import programs
from smartspider_testing.servers.errors import ServerFailed
from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.process import TIMEOUT_S, ServerProcess
from smartspider_testing.servers.redis.client import RedisClient, RedisRefused
from smartspider_testing.servers.redis.security import OPEN, RedisSecurity
from smartspider_testing.servers.redis.server import RedisServer

NAME = "smartspider"


class SentinelServer:
    """A Sentinel; it is configured with the addresses of the others, so no discovery is needed."""

    def __init__(self, folder: Path, guard: RedisSecurity = OPEN) -> None:
        folder.mkdir(parents=True)
        self.port = free_port()
        self.guard = guard
        self.id = secrets.token_hex(20)
        self.configuration = folder / "sentinel.conf"
        self.process = ServerProcess([programs.redis_sentinel(), str(self.configuration)], folder)

    def command(self, *words: str | int) -> object:
        """Send a command."""
        with RedisClient(self.port, timeout_s=2.0, guard=self.guard) as connection:
            return connection(*words)


class SentinelGroup:
    """A master, its replicas, and Sentinels that replace a silent master.

    `guards` are the security settings of servers and of Sentinels: TLS for both or for neither, because a
    Sentinel uses one kind of connection to servers and to other Sentinels.
    """

    def __init__(
        self,
        folder: Path,
        *,
        replicas: int = 1,
        sentinels: int = 3,
        guards: tuple[RedisSecurity, RedisSecurity] = (OPEN, OPEN),
    ) -> None:
        of_servers, of_sentinels = guards
        first = RedisServer(folder / "redis-0", guard=of_servers)
        self.servers = [first] + [
            RedisServer(folder / f"redis-{number + 1}", replica_of=first, guard=of_servers)
            for number in range(replicas)
        ]
        self.sentinels = [
            SentinelServer(folder / f"sentinel-{number}", of_sentinels) for number in range(sentinels)
        ]
        self._open = ExitStack()

    @property
    def url(self) -> str:
        """The URL for clients: the Sentinels and the name of the master set, without passwords."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{one.port}' for one in self.sentinels)}/{NAME}"

    def start(self) -> Self:
        """Start all servers; return once replicas are in sync and the Sentinels can fail over."""
        try:
            for server in self.servers:
                self._open.enter_context(server)
            for replica in self.servers[1:]:
                replica.wait_for_replica()
            for sentinel in self.sentinels:
                self._write_configuration(sentinel)
                sentinel.process.start()
                self._open.callback(sentinel.process.end, signal.SIGKILL)
            for sentinel in self.sentinels:
                sentinel.process.wait_until("agree on the master", partial(self._is_ready, sentinel))
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop all servers."""
        self._open.close()

    def _write_configuration(self, sentinel: SentinelServer) -> None:
        others = [one for one in self.sentinels if one is not sentinel]
        settings = sentinel.guard.settings(sentinel.port)
        if self.servers[0].guard.password:
            settings[f"sentinel auth-pass {NAME}"] = self.servers[0].guard.password
        if sentinel.guard.password:
            settings["sentinel sentinel-pass"] = sentinel.guard.password
        lines = [
            "bind 127.0.0.1",
            f"dir {sentinel.configuration.parent}",
            f"sentinel myid {sentinel.id}",
            f"sentinel monitor {NAME} 127.0.0.1 {self.servers[0].port} {len(self.sentinels) // 2 + 1}",
            f"sentinel down-after-milliseconds {NAME} 1000",
            f"sentinel failover-timeout {NAME} 3000",
            *(f"sentinel known-replica {NAME} 127.0.0.1 {one.port}" for one in self.servers[1:]),
            *(f"sentinel known-sentinel {NAME} 127.0.0.1 {one.port} {one.id}" for one in others),
            *(f"{name} {value}" for name, value in settings.items()),
        ]
        sentinel.configuration.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _is_ready(self, sentinel: SentinelServer) -> bool:
        """Return True if a Sentinel sees a quorum and every replica in sync."""
        try:
            enough = sentinel.command("SENTINEL", "CKQUORUM", NAME)
            replicas = sentinel.command("SENTINEL", "REPLICAS", NAME)
        except (OSError, RedisRefused):
            return False
        assert isinstance(enough, bytes)
        assert isinstance(replicas, list)
        usable = [one for one in replicas if one[one.index(b"flags") + 1] == b"slave"]
        linked = [one for one in usable if one[one.index(b"master-link-status") + 1] == b"ok"]
        return f"OK {len(self.sentinels)} usable".encode() in enough and len(linked) == len(self.servers) - 1

    def master(self) -> RedisServer:
        """Return the server that most Sentinels name as master."""
        votes = [self._named_by(sentinel) for sentinel in self.sentinels]
        ports = [port for port in votes if port is not None]
        if not ports:
            raise ServerFailed("no Sentinel answers")
        port = max(set(ports), key=ports.count)
        return next(server for server in self.servers if server.port == port)

    def wait_for_new_master(self, old: RedisServer, within_s: float = TIMEOUT_S) -> RedisServer:
        """Return the new master once all Sentinels agree and it accepts writes."""
        process = self.sentinels[0].process
        process.wait_until("replace the master", partial(self._is_replaced, old), within_s)
        return self.master()

    def _is_replaced(self, old: RedisServer) -> bool:
        named = {self._named_by(sentinel) for sentinel in self.sentinels if sentinel.process.is_running}
        if len(named) != 1 or named <= {old.port, None}:
            return False
        new = next(server for server in self.servers if server.port in named)
        return new.info("replication")["role"] == "master"

    def _named_by(self, sentinel: SentinelServer) -> int | None:
        try:
            address = sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
        except (OSError, RedisRefused):
            return None
        assert isinstance(address, list)
        return int(address[1])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()
