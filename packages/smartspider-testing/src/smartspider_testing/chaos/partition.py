"""Redis under Sentinels whose master can be cut off from everybody but those who know where it really is."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from smartspider_testing.servers import RedisServer, SentinelGroup, TcpProxy
from smartspider_testing.servers.ports import free_port


class PartitionedGroup(SentinelGroup):
    """Sentinels, replica and clients reach each server by a proxy; its own port is a way round.

    Cut the `door` of a server: for all who came by it the server is gone, who came by its own port keeps it.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._doors: dict[int, TcpProxy] = {}
        self._doorways = ExitStack()
        self.servers = []
        for number in range(2):
            own = free_port()
            door = TcpProxy("127.0.0.1", own)
            options = {"replica-announce-ip": "127.0.0.1", "replica-announce-port": str(door.url_port)}
            if number:
                options["replicaof"] = f"127.0.0.1 {self.servers[0].port}"
            self.servers.append(_Announced(folder / f"server-{number}", own, door.url_port, options))
            self._doors[door.url_port] = door

    def start(self) -> Self:
        """Start the proxies, then all of it."""
        for door in self._doors.values():
            self._doorways.enter_context(door)
        try:
            return super().start()
        except BaseException:
            self._doorways.close()
            raise

    def stop(self) -> None:
        """End all of it."""
        super().stop()
        self._doorways.close()

    def door(self, server: RedisServer) -> TcpProxy:
        """The way by which everybody comes to a server."""
        return self._doors[server.port]

    def way_round(self, server: RedisServer) -> str:
        """The address that no partition cuts."""
        assert isinstance(server, _Announced)
        return f"redis://127.0.0.1:{server.own_port}"


class _Announced(RedisServer):
    """A server that is known by the port of its proxy."""

    def __init__(self, folder: Path, own: int, door: int, options: dict[str, str]) -> None:
        super().__init__(folder, port=own, options=options)
        self.own_port = own
        self.port = door
