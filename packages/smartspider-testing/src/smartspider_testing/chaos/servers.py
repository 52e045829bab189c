"""The servers of a cluster: PostgreSQL, one kind of Redis, and proxies in front of them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from smartspider_testing.chaos.partition import PartitionedGroup
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers import PostgresServer, RedisCluster, RedisServer, SmallDisk, TcpProxy

DATABASE = "chaos"
ROOM = "small"
"""The tablespace on a small disk."""


class ChaosServers:
    """Starts and stops the servers of a cluster."""

    def __init__(self, folder: Path, setup: ClusterSetup, template: Path) -> None:
        self._folder = folder
        self._setup = setup
        self._open = ExitStack()
        self.database = DATABASE
        self.postgres = PostgresServer(
            folder / "postgres", template=template, clock_offset_s=setup.postgres_clock_s
        )
        has_standby = setup.standby != "none"
        self._standby = PostgresServer(folder / "standby", follows=self.postgres) if has_standby else None
        self._redis = self._redis_of(setup)
        self.disk = SmallDisk(folder / "disk", setup.small_disk_bytes) if setup.small_disk_bytes else None
        self._store_proxy: TcpProxy | None = None
        self._frontier_proxy: TcpProxy | None = None
        self.store_url = ""
        self.frontier_url = ""

    def _redis_of(self, setup: ClusterSetup) -> RedisServer | PartitionedGroup | RedisCluster:
        if setup.redis == "sentinel":
            return PartitionedGroup(self._folder / "sentinel")
        if setup.redis == "cluster":
            return RedisCluster(self._folder / "cluster")
        return RedisServer(
            self._folder / "redis", options=setup.redis_options, clock_offset_s=setup.redis_clock_s
        )

    @property
    def redis(self) -> RedisServer:
        """The single Redis."""
        assert isinstance(self._redis, RedisServer)
        return self._redis

    @property
    def sentinel(self) -> PartitionedGroup:
        """The group that Sentinels monitor."""
        assert isinstance(self._redis, PartitionedGroup)
        return self._redis

    @property
    def redis_cluster(self) -> RedisCluster:
        """The Redis Cluster."""
        assert isinstance(self._redis, RedisCluster)
        return self._redis

    @property
    def standby(self) -> PostgresServer:
        """The standby PostgreSQL."""
        assert self._standby is not None
        return self._standby

    @property
    def store_proxy(self) -> TcpProxy:
        """The proxy in front of PostgreSQL."""
        assert self._store_proxy is not None
        return self._store_proxy

    @property
    def frontier_proxy(self) -> TcpProxy:
        """The proxy in front of Redis."""
        assert self._frontier_proxy is not None
        return self._frontier_proxy

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self.disk is not None:
                opening.enter_context(self.disk)
            opening.enter_context(self.postgres)
            opening.enter_context(self._redis)
            self.store_url, self.frontier_url = self._make_database(), self._redis.url
            if self._standby is not None:
                opening.enter_context(self._standby)
                self.store_url = _either(self.store_url, self.postgres, self._standby)
            if self._setup.standby == "synchronous":
                self.postgres.wait_for_standby()
            if isinstance(self._redis, RedisServer):
                self._redis.remember_aof()
            if self._setup.is_proxied:
                self._store_proxy = opening.enter_context(TcpProxy("127.0.0.1", self.postgres.port))
                self._frontier_proxy = opening.enter_context(TcpProxy("127.0.0.1", self.redis.port))
                self.store_url = _through(self.store_url, self._store_proxy)
                self.frontier_url = _through(self.frontier_url, self._frontier_proxy)
            self._open = opening.pop_all()
        return self

    def _make_database(self) -> str:
        if self.disk is None:
            return self.postgres.create_database(DATABASE)
        self.postgres.create_tablespace(ROOM, self.disk.folder)
        return self.postgres.create_database(DATABASE, tablespace=ROOM)

    def fail_over(self) -> None:
        """Kill the primary PostgreSQL and promote its standby."""
        self.postgres.kill()
        self.standby.promote()
        self.postgres = self.standby

    def __exit__(self, *_error: object) -> None:
        self._open.close()


def _either(url: str, first: PostgresServer, second: PostgresServer) -> str:
    """Return a URL of both servers that selects the one that accepts writes."""
    both = f":{first.port},127.0.0.1:{second.port}/"
    return f"{url.replace(f':{first.port}/', both, 1)}?target_session_attrs=read-write"


def _through(url: str, proxy: TcpProxy) -> str:
    """Return the URL of the same server through a proxy."""
    return url.replace(f":{urlsplit(url).port}", f":{proxy.url_port}", 1)
