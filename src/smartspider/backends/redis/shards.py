"""Shards of the index: by registrable domain, each in one slot; calls to several are sent together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from smartspider.backends.redis import errors, library
from smartspider.backends.redis.address import RedisAddress
from smartspider.backends.redis.functions import LoadedLibrary, is_missing
from smartspider.backends.redis.server_check import COMMANDS, check, refusal
from smartspider.backends.redis.servers import RedisNode, RedisServers, open_servers
from smartspider.core.errors import (
    FrontierTaken,
    FrontierUnavailable,
    LeadershipLost,
    NotArmed,
    SmartSpiderError,
)
from smartspider.core.requests.domains import registrable_domain

ON_CLUSTER = 16
NEVER_SENT = (" connecting to ", " while writing to socket. Connection lost")
"""Messages of the client about calls that were not sent: no connection, or one lost before."""


class Call(msgspec.Struct, frozen=True):
    """A call of a function of the library."""

    shard: int
    name: str
    args: Sequence[Any] = ()


class Shards:
    """The library on the servers of an address, checked and loaded on first use.

    `installation` is the owner of the calls; without it they have no owner and exclude no other.
    """

    def __init__(
        self,
        address: RedisAddress,
        *,
        servers: RedisServers | None = None,
        code: str | None = None,
        installation: str = "",
    ) -> None:
        self._address = address
        self._installation = installation
        self.servers = servers or open_servers(address)
        self._code = code or library.source()
        self._library = LoadedLibrary(self.servers, self._prepare)
        self._count = ON_CLUSTER if address.kind == "cluster" else 1

    @property
    def count(self) -> int:
        """The number of shards."""
        return self._count

    def tag(self, shard: int) -> str:
        """Return the common key prefix of a shard; it is the same in all databases of a server."""
        return f"{{smartspider:{shard}}}:{self._address.db}:{self._address.namespace}"

    def of(self, host: str) -> int:
        """Return the shard of a host. All hosts of a registrable domain share one."""
        return _shard(registrable_domain(host), self._count) if self._count > 1 else 0

    def counter(self, shard: int, number: int) -> int:
        """Return a lease number that is unique among all shards, each of which counts by itself."""
        return number * self._count + shard

    def number(self, counter: int) -> int:
        """Return the number of a lease as its shard knows it."""
        return counter // self._count

    async def call(self, shard: int, name: str, *args: Any) -> Any:
        """Call one function. Raise its error."""
        (answer,) = await self.answers([Call(shard, name, args)])
        return answer

    async def answers(self, calls: Sequence[Call]) -> list[Any]:
        """Call functions in one round trip. Raise the first error after all were sent."""
        answers = await self.round(calls)
        for answer in answers:
            if isinstance(answer, SmartSpiderError):
                raise answer
        return answers

    async def round(self, calls: Sequence[Call]) -> list[Any]:
        """Call functions in one round trip. Return an answer or an error for each."""
        if not calls:
            return []
        try:
            answers = await self._library.calls([self._command(call) for call in calls])
        except FrontierUnavailable as error:
            return [error] * len(calls)
        return [self._translated(one) if isinstance(one, Exception) else one for one in answers]

    async def check(self, shard: int) -> None:
        """Raise if the server of a shard is unavailable or its settings have become unsuitable."""
        tag, call = self._command(Call(shard, "refusals"))
        called, *settings = await self._library.calls(
            [(tag, call), *((tag, command) for command in COMMANDS)]
        )
        if isinstance(called, Exception):
            raise self._translated(called)
        if (found := refusal(settings, self._address)) is not None:
            raise found

    async def close(self) -> None:
        """Close all connections."""
        await self.servers.close()

    def _command(self, call: Call) -> tuple[str, list[Any]]:
        tag = self.tag(call.shard)
        keys = (tag, f"{tag}:of:{self._installation}") if self._installation else (tag,)
        return tag, ["FCALL", f"{library.NAME}_{call.name}", len(keys), *keys, *call.args]

    async def _prepare(self, server: RedisNode) -> None:
        await check(server, self._address)
        await library.load(server, self._code)

    def _translated(self, error: Exception) -> SmartSpiderError:
        """Translate an error; of the URL only the hosts are shown."""
        text = str(error)
        if text.startswith("NOT_ARMED"):
            return NotArmed(f"the frontier is waiting for the keeper: {_reason(text)}", hint=errors.NO_KEEPER)
        if text.startswith("OLD_EPOCH"):
            return LeadershipLost(f"the frontier follows a newer keeper: {_reason(text)}")
        if text.startswith("FOREIGN"):
            return FrontierTaken(
                f"the Redis at {self._address.shown} holds the frontier of another installation",
                hint="add ?namespace=NAME to SMARTSPIDER_FRONTIER_URL of all processes of this one; when the"
                " other is gone for good, its place is free a minute later",
            )
        if is_missing(error):
            return NotArmed(
                "the frontier waits for the keeper: its server has lost the library", hint=errors.NO_KEEPER
            )
        why, hint = errors.translate_error(error, self._address)
        return FrontierUnavailable(
            f"the frontier's Redis at {self._address.shown} cannot be used: {why}",
            hint=hint,
            has_arrived=not any(part in text for part in NEVER_SENT),
        )


def _reason(text: str) -> str:
    return text.partition(" ")[2].partition(" script:")[0]


@lru_cache(maxsize=65536)
def _shard(domain: str, count: int) -> int:
    """Return the shard of a domain. Stable over processes and versions, or hosts would be stored twice."""
    return int.from_bytes(hashlib.blake2b(domain.encode(), digest_size=8).digest(), "big") % count
