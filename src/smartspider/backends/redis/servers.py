"""The servers of an address, by Sentinel and TLS where it asks for them.

One pipeline takes any number of calls, in exactly one attempt.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Any, Protocol

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from smartspider.backends.redis.address import (
    ANSWER_S,
    CONNECT_S,
    SETTING,
    TLS_FILES,
    RedisAddress,
    TlsOptions,
)
from smartspider.backends.redis.errors import plain_message
from smartspider.core.errors import FrontierUnavailable, SettingInvalid

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


class SentinelClient(Sentinel):
    """Sentinels, asked in turn. The client's own error lists pages of settings and no reason."""

    def __init__(self, address: RedisAddress, options: dict[str, Any]) -> None:
        super().__init__(list(address.nodes), sentinel_kwargs=options)  # type: ignore[no-untyped-call] # not annotated
        self._named = list(zip(address.nodes, self.sentinels, strict=True))

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """Return host and port of the master, from the first Sentinel that knows a healthy one."""
        problems = []
        for place, ((host, port), sentinel) in enumerate(self._named):
            try:
                masters: Any = await sentinel.sentinel_masters()
            except (RedisError, OSError, RuntimeError, UnicodeError) as error:
                problems.append(f"{host}:{port}: {plain_message(error)}")
                continue
            state = masters.get(service_name)
            if state and self.check_master_state(state, service_name):
                self._named.insert(0, self._named.pop(place))
                return state["ip"], state["port"]
            problems.append(f"{host}:{port}: {'it is down' if state else 'it watches none of that name'}")
        raise MasterNotFoundError(f"no Sentinel names a master {service_name!r}: {'; '.join(problems)}")


def tls_options(tls: TlsOptions, *, is_on: bool) -> dict[str, Any]:
    """Return the options for the client. Raise `SettingInvalid` for unusable files."""
    if not is_on:
        return {"ssl": False}
    _check(tls)
    return {
        "ssl": True,
        **{name: getattr(tls, field) or None for name, field in TLS_FILES.items()},
        "ssl_cert_reqs": "required" if tls.is_verified else "none",
        "ssl_check_hostname": tls.is_verified and tls.is_name_checked,
    }


def _check(tls: TlsOptions) -> None:
    """Load the files: the client would read them with every connection, and ask a terminal for a password."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    option = "ssl_ca_certs"
    try:
        if tls.ca_certs:
            context.load_verify_locations(cafile=tls.ca_certs)
        option = "ssl_certfile"
        if tls.certfile:
            context.load_cert_chain(tls.certfile, tls.keyfile or None, password=lambda: "")
    except OSError as error:
        beside = " or its ssl_keyfile" if option == "ssl_certfile" else ""
        why = "no key or certificate is in it that can be used without a password"
        if not isinstance(error, ssl.SSLError):
            why = error.strerror or type(error).__name__
        raise SettingInvalid(
            f"{SETTING}: the {option}{beside} file cannot be used: {why}",
            hint="specify the path of a PEM file",
        ) from None
