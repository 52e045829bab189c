"""The servers of an address: one pipeline for any number of calls, exactly one attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from smartspider.backends.redis.address import ANSWER_S, CONNECT_S, RedisAddress
from smartspider.backends.redis.sentinel import SentinelClient
from smartspider.backends.redis.tls import tls_options
from smartspider.core.errors import FrontierUnavailable

MAX_CONNECTIONS = 64
LOST = (RedisError, RedisClusterException, OSError, TimeoutError, RuntimeError, UnicodeError)
"""Errors of a call without an answer: uvloop raises RuntimeError for a closed socket, the resolver
UnicodeError for an invalid name.
"""


class RedisNode(Protocol):
    """One Redis server that takes commands."""

    async def execute_command(self, *args: Any) -> Any:
        """Send a command."""


class RedisServers(Protocol):
    """All servers of a Redis."""

    async def calls(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        """Send commands, each with the key that decides the server. Return answers or errors in the same
        order.
        """

    async def primaries(self) -> list[RedisNode]:
        """Return every server that accepts writes."""

    async def close(self) -> None:
        """Close all connections."""


def open_servers(address: RedisAddress) -> RedisServers:
    """Return the clients for an address; nothing is sent yet. Raise `SettingInvalid` for unusable files."""
    return ClusterServers(address) if address.kind == "cluster" else SingleServer(address)


class SingleServer:
    """A single Redis, or the master found by Sentinel."""

    def __init__(self, address: RedisAddress) -> None:
        shared: dict[str, Any] = {
            "username": address.username,
            "password": address.password,
            "db": address.db,
            "max_connections": MAX_CONNECTIONS,
            **tls_options(address.tls, is_on=address.is_tls),
            **_single_attempt(),
        }
        self._sentinel: SentinelClient | None = None
        if address.kind == "sentinel":
            self._sentinel = SentinelClient(address, _sentinel_options(address))
            self._client: Redis = self._sentinel.master_for(address.service, **shared)
        else:
            ((host, port),) = address.nodes[:1]
            self._client = Redis(host=host, port=port, **shared)

    async def calls(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        """Send one pipeline."""
        pipeline = self._client.pipeline(transaction=False)
        for _, command in calls:
            pipeline.execute_command(*command)
        return list(await pipeline.execute(raise_on_error=False))

    async def primaries(self) -> list[RedisNode]:
        """Return the only server."""
        return [self._client]

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        for sentinel in self._sentinel.sentinels if self._sentinel is not None else ():
            await sentinel.aclose()


class ClusterServers:
    """A Redis Cluster: calls go to the master of their slot, to all masters concurrently."""

    def __init__(self, address: RedisAddress) -> None:
        self._client = RedisCluster(
            startup_nodes=[ClusterNode(host, port) for host, port in address.nodes],
            username=address.username,
            password=address.password,
            max_connections=MAX_CONNECTIONS,
            require_full_coverage=False,
            **tls_options(address.tls, is_on=address.is_tls),
            **_single_attempt(),
        )

    async def calls(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        """Send one pipeline to each master concurrently. An unreachable master is an error for its own calls
        only.
        """
        await self._client.initialize()
        answers: list[Any] = [
            FrontierUnavailable("the Redis Cluster has no master for a part of the frontier")
        ]
        answers *= len(calls)
        groups: dict[str, list[int]] = {}
        for place, (key, _) in enumerate(calls):
            node = self._client.get_node_from_key(key)
            if node is not None:
                groups.setdefault(node.name, []).append(place)
        rounds = await asyncio.gather(
            *(self._on(name, [calls[place][1] for place in places]) for name, places in groups.items()),
            return_exceptions=True,
        )
        for places, given in zip(groups.values(), rounds, strict=True):
            for number, place in enumerate(places):
                answers[place] = given if isinstance(given, BaseException) else given[number]
        return answers

    async def _on(self, name: str, commands: Sequence[list[Any]]) -> list[Any]:
        """Send one pipeline to one master."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            # Given here, because the client would ask the server for the keys of every call.
            pipeline.execute_command(*command, target_nodes=self._client.get_node(node_name=name))
        return list(await pipeline.execute(raise_on_error=False))

    async def primaries(self) -> list[RedisNode]:
        """Return all masters."""
        await self._client.initialize()
        return [_ClusterServer(self._client, node) for node in self._client.get_primaries()]

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


class _ClusterServer:
    """One master of a cluster."""

    def __init__(self, client: RedisCluster, node: ClusterNode) -> None:
        self._client = client
        self._node = node

    async def execute_command(self, *args: Any) -> Any:
        """Send a command to this master."""
        return await self._client.execute_command(*args, target_nodes=self._node)


def _sentinel_options(address: RedisAddress) -> dict[str, Any]:
    """Return the connection options for the Sentinels themselves."""
    return {
        "username": address.sentinel.username,
        "password": address.sentinel.password,
        **tls_options(address.tls, is_on=address.sentinel.is_tls),
        **_single_attempt(),
    }


def _single_attempt() -> dict[str, Any]:
    """Return options for a single attempt: the caller knows whether a retry is still wanted."""
    return {
        "socket_connect_timeout": CONNECT_S,
        "socket_timeout": ANSWER_S,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }
