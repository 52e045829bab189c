"""Real servers for tests, fault runs and benchmarks, started on free ports.

Needs only the standard library and the servers' own programs; `programs.PACKAGES` names the packages that
install them. Every server ends with the process that started it, even if that process is killed.
"""

from __future__ import annotations

from smartspider_testing.servers.disk import SmallDisk
from smartspider_testing.servers.errors import NotInstalled, NotPossibleHere, ServerFailed
from smartspider_testing.servers.postgres.pristine import PristineDatabase
from smartspider_testing.servers.postgres.server import PostgresServer
from smartspider_testing.servers.proxy import TcpProxy
from smartspider_testing.servers.redis.cluster import RedisCluster
from smartspider_testing.servers.redis.sentinel import SentinelGroup
from smartspider_testing.servers.redis.server import RedisServer

__all__ = [
    "NotInstalled",
    "NotPossibleHere",
    "PostgresServer",
    "PristineDatabase",
    "RedisCluster",
    "RedisServer",
    "SentinelGroup",
    "ServerFailed",
    "SmallDisk",
    "TcpProxy",
]
