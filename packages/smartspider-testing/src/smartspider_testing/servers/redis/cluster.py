"""A Redis Cluster."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from smartspider_testing.servers.ports import free_port
from smartspider_testing.servers.redis.client import sections
from smartspider_testing.servers.redis.security import OPEN, RedisSecurity
from smartspider_testing.servers.redis.server import RedisServer

SLOTS = 16_384


class RedisCluster:
    """Masters that share the slots evenly, each with replicas; the others keep serving if one is lost.

    `masters[n]` holds the n-th range of slots at the start, `replicas[n]` are its replicas.
    """

    def __init__(
        self,
        folder: Path,
        *,
        masters: int = 3,
        replicas: int = 0,
        node_timeout_s: float = 1.0,
        options: Mapping[str, str] | None = None,
        guard: RedisSecurity = OPEN,
    ) -> None:
        self._guard = guard
        self._options = {
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-node-timeout": f"{node_timeout_s * 1000:.0f}",
            "cluster-require-full-coverage": "no",
            **({"tls-cluster": "yes"} if guard.encryption else {}),
            **(options or {}),
        }
        self.masters = [self._server(folder / f"master-{number}") for number in range(masters)]
        self.replicas = [
            [self._server(folder / f"replica-{number}-{copy}") for copy in range(replicas)]
            for number in range(masters)
        ]
        self._open = ExitStack()

    def _server(self, folder: Path) -> RedisServer:
        return RedisServer(
            folder, options={**self._options, "cluster-port": str(free_port())}, guard=self._guard
        )

    @property
    def servers(self) -> list[RedisServer]:
        """All servers, masters first."""
        return [*self.masters, *(server for group in self.replicas for server in group)]

    @property
    def url(self) -> str:
        """The URL for clients, without a password."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{server.port}' for server in self.servers)}"

    def start(self) -> Self:
        """Start and join all servers; return once every server sees a complete cluster and every replica is
        in sync.
        """
        try:
            for server in self.servers:
                self._open.enter_context(server)
            self._share_slots()
            self._introduce()
            for server in self.servers:
                server.wait_until("see a whole cluster", partial(self._is_whole, server))
            self._give_replicas()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop all servers."""
        self._open.close()

    def _share_slots(self) -> None:
        count = len(self.masters)
        for number, server in enumerate(self.masters):
            first, end = SLOTS * number // count, SLOTS * (number + 1) // count
            server.command("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for number, server in enumerate(self.servers):
            server.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)

    def _introduce(self) -> None:
        for number, server in enumerate(self.servers):
            for other in self.servers[number + 1 :]:
                bus = other.command("CONFIG", "GET", "cluster-port")
                assert isinstance(bus, list)
                server.command("CLUSTER", "MEET", "127.0.0.1", other.port, int(bus[1]))

    def _give_replicas(self) -> None:
        for master, group in zip(self.masters, self.replicas, strict=True):
            name = master.command("CLUSTER", "MYID")
            assert isinstance(name, bytes)
            for replica in group:
                replica.command("CLUSTER", "REPLICATE", name)
        for group in self.replicas:
            for replica in group:
                replica.wait_for_replica()

    def _is_whole(self, server: RedisServer) -> bool:
        seen = sections(server.command("CLUSTER", "INFO"))
        return (
            seen["cluster_state"] == "ok"
            and int(seen["cluster_slots_ok"]) == SLOTS
            and int(seen["cluster_known_nodes"]) == len(self.servers)
        )

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()
