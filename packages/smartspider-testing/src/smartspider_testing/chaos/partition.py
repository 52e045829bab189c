"""Redis under Sentinels whose master can be partitioned from all clients that use its proxy."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from smartspider_testing.servers import RedisServer, SentinelGroup, TcpProxy
from smartspider_testing.servers.ports import free_port


class PartitionedGroup(SentinelGroup):
    """Sentinels, replica and clients reach each server through a proxy; its own port bypasses it.

    Cutting the `proxy_of` a server partitions all clients of the proxy; clients of its own port keep it.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._proxies: dict[int, TcpProxy] = {}
        self._doorways = ExitStack()
        self.servers = []
        for number in range(2):
            own = free_port()
            door = TcpProxy("127.0.0.1", own)
            options = {"replica-announce-ip": "127.0.0.1", "replica-announce-port": str(door.url_port)}
            if number:
                options["replicaof"] = f"127.0.0.1 {self.servers[0].port}"
            self.servers.append(_Announced(folder / f"server-{number}", own, door.url_port, options))
            self._proxies[door.url_port] = door

    def start(self) -> Self:
        """Start the proxies, then the servers."""
        for door in self._proxies.values():
            self._doorways.enter_context(door)
        try:
            return super().start()
        except BaseException:
            self._doorways.close()
            raise

    def stop(self) -> None:
        """Stop servers and proxies."""
        super().stop()
        self._doorways.close()

    def proxy_of(self, server: RedisServer) -> TcpProxy:
        """Return the proxy of a server."""
        return self._proxies[server.port]

    def direct_url(self, server: RedisServer) -> str:
        """Return the URL that bypasses the proxy."""
        assert isinstance(server, _Announced)
        return f"redis://127.0.0.1:{server.own_port}"


class _Announced(RedisServer):
    """A server that announces the port of its proxy."""

    def __init__(self, folder: Path, own: int, door: int, options: dict[str, str]) -> None:
        super().__init__(folder, port=own, options=options)
        self.own_port = own
        self.port = door
