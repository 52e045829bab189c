"""Parts of the index: by registrable domain, each in one slot; calls to several go out together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from smartspider.backends.redis import errors, library
from smartspider.backends.redis.address import RedisAddress
from smartspider.backends.redis.functions import LoadedLibrary, is_missing
from smartspider.backends.redis.server_check import ASKED, check, refusal
from smartspider.backends.redis.servers import RedisNode, RedisServers, open_servers
from smartspider.core.errors import (
    FrontierTaken,
    FrontierUnavailable,
    LeadershipLost,
    NotArmed,
    SmartSpiderError,
)
from smartspider.store.hosts.domains import registrable_domain

ON_CLUSTER = 16
NEVER_SENT = (" connecting to ", " while writing to socket. Connection lost")
"""Words of the client about calls that did not leave: no connection, or one that was lost before."""


class Call(msgspec.Struct, frozen=True):
    """One call of a function of the library."""

    shard: int
    name: str
    args: Sequence[Any] = ()


class Shards:
    """The library on the servers of an address, checked and loaded on first use.

    `installation` is whose calls they are; without, they are nobody's, and keep nobody away.
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
        self._servers = servers or open_servers(address)
        self._code = code or library.source()
        self._library = LoadedLibrary(self._servers, self._prepare)
        self._count = ON_CLUSTER if address.kind == "cluster" else 1

    @property
    def count(self) -> int:
        """How many parts there are."""
        return self._count

    def tag(self, shard: int) -> str:
        """The key that all of a shard derive from; a server knows it in all of its databases."""
        return f"{{smartspider:{shard}}}:{self._address.db}:{self._address.namespace}"

    def of(self, host: str) -> int:
        """Where a host is kept: all hosts of a registrable domain together."""
        return _shard(registrable_domain(host), self._count) if self._count > 1 else 0

    def counter(self, shard: int, number: int) -> int:
        """The number of a lease among those of all shards: each counts by itself, and no two say the same."""
        return number * self._count + shard

    def number(self, counter: int) -> int:
        """The number of a lease as its shard knows it."""
        return counter // self._count

    async def call(self, shard: int, name: str, *args: Any) -> Any:
        """Call one function; raises what went wrong."""
        (answer,) = await self.answers([Call(shard, name, args)])
        return answer

    async def answers(self, calls: Sequence[Call]) -> list[Any]:
        """Call functions in one round trip; raises the first error after all were sent."""
        answers = await self.round(calls)
        for answer in answers:
            if isinstance(answer, SmartSpiderError):
                raise answer
        return answers

    async def round(self, calls: Sequence[Call]) -> list[Any]:
        """Call functions in one round trip; an answer or an error for each."""
        if not calls:
            return []
        try:
            answers = await self._library.calls([self._command(call) for call in calls])
        except FrontierUnavailable as error:
            return [error] * len(calls)
        return [self._translated(one) if isinstance(one, Exception) else one for one in answers]

    async def check(self, shard: int) -> None:
        """Raise why the server of a shard cannot be used, or must not be as it is set up by now."""
        tag, call = self._command(Call(shard, "refusals"))
        called, *told = await self._library.calls([(tag, call), *((tag, words) for words in ASKED)])
        if isinstance(called, Exception):
            raise self._translated(called)
        if (found := refusal(told, self._address)) is not None:
            raise found

    async def close(self) -> None:
        """Let go of all connections."""
        await self._servers.close()

    def _command(self, call: Call) -> tuple[str, list[Any]]:
        tag = self.tag(call.shard)
        keys = (tag, f"{tag}:of:{self._installation}") if self._installation else (tag,)
        return tag, ["FCALL", f"{library.NAME}_{call.name}", len(keys), *keys, *call.args]

    async def _prepare(self, server: RedisNode) -> None:
        await check(server, self._address)
        await library.load(server, self._code)

    def _translated(self, error: Exception) -> SmartSpiderError:
        """What went wrong, in our words; nothing of the URL but its hosts."""
        text = str(error)
        if text.startswith("NOT_ARMED"):
            return NotArmed(f"the frontier waits for the keeper: {_reason(text)}", hint=errors.NO_KEEPER)
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
            has_arrived=not any(words in text for words in NEVER_SENT),
        )


def _reason(text: str) -> str:
    return text.partition(" ")[2].partition(" script:")[0]


@lru_cache(maxsize=65536)
def _shard(domain: str, count: int) -> int:
    """Stable over processes and versions, or hosts would be kept twice."""
    return int.from_bytes(hashlib.blake2b(domain.encode(), digest_size=8).digest(), "big") % count
