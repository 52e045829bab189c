"""The Redis function library of the filters: loaded when it is missing, called in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
from redis.exceptions import ResponseError

from smartspider.backends.redis.errors import translate_error
from smartspider.backends.redis.functions import LoadedLibrary, build_library, is_missing, load
from smartspider.backends.redis.servers import LOST, RedisNode, RedisServers
from smartspider.core.errors import FrontierUnavailable
from smartspider.dedup.url_filter import FilterKey, parse_filter_key

NAME = "smartspider_dedup"
VERSION = 3
"""Increase with every change of the library."""
PARTS = ("exact", "bloom", "register")
BATCH = 500
"""Fingerprints per call: a larger call would block the server noticeably."""
SIZE = 16
FILL = 200
"""Average entries of a bucket; up to a little over twice as many, it is a listpack with Redis's defaults."""


class FilterCall(msgspec.Struct, frozen=True):
    """One command on one part: a function of the library or a Redis command."""

    part: int
    words: Sequence[Any]


@lru_cache(maxsize=1)
def source() -> str:
    """Return the source of the library."""
    return build_library(__package__, NAME, {"VERSION": VERSION}, PARTS)


class FilterFunctions:
    """The servers of a frontier as the filters use them; `namespace` separates installations.

    `parts` is 1 on a single server, and the same in all processes of an installation.
    """

    def __init__(self, servers: RedisServers, *, namespace: str = "main", parts: int = 1) -> None:
        self._library = LoadedLibrary(servers, self._prepare)
        self._namespace = namespace
        self.parts = parts
        self.fill = FILL

    def tag(self, part: int) -> str:
        """Return the prefix of all keys of a part."""
        return f"{{smartspider:dedup:{part}}}:{self._namespace}"

    def function(self, part: int, name: str, *args: Any) -> FilterCall:
        """Return a call of a function of the library."""
        return FilterCall(part, ("FCALL", f"{NAME}_{name}", 1, self.tag(part), *args))

    def command(self, part: int, word: str, name: str, *args: Any) -> FilterCall:
        """Return a Redis command on one key."""
        return FilterCall(part, (word, f"{self.tag(part)}:{name}", *args))

    def split(self, fingerprints: Sequence[bytes]) -> list[tuple[int, Sequence[bytes]]]:
        """Return batches, each of one part."""
        by_part: list[list[bytes]] = [[] for _ in range(self.parts)]
        for one in fingerprints:
            by_part[one[0] % self.parts].append(one)
        return [
            (part, group[start : start + BATCH])
            for part, group in enumerate(by_part)
            for start in range(0, len(group), BATCH)
        ]

    async def find_known(self, name: str, key: FilterKey, fingerprints: Sequence[bytes]) -> set[bytes]:
        """Return the fingerprints that a function knows, which answers with a flag for each."""
        groups = self.split(fingerprints)
        calls = [self.function(part, name, str(key), packed(group)) for part, group in groups]
        return _flagged(groups, await self.round(calls))

    async def keys(self, name: str) -> list[FilterKey]:
        """Return the filter keys in a set of their names."""
        answers = await self.round([self.command(part, "SMEMBERS", name) for part in range(self.parts)])
        names = {one.decode() for answer in answers for one in answer}
        return sorted(key for key in map(parse_filter_key, names) if key is not None)

    async def round(self, calls: Sequence[FilterCall]) -> list[Any]:
        """Return the answers in order; raise `FrontierUnavailable` if one is missing."""
        if not calls:
            return []
        commands = [(self.tag(call.part), list(call.words)) for call in calls]
        answers = await self._library.calls(commands)
        if any(map(is_missing, answers)):  # the server was flushed, functions included
            answers = await self._library.calls(commands)
        for one in answers:
            if isinstance(one, Exception):
                raise _unavailable(one) from one
        return answers

    async def prepare(self) -> None:
        """Load the library on all servers."""
        try:
            await self._library.prepare()
        except LOST as error:
            raise _unavailable(error) from error

    async def _prepare(self, server: RedisNode) -> None:
        """Load the library on a server; a newer version supports these calls."""
        await load(server, NAME, VERSION, source())
        self.fill = min(self.fill, await _room(server))


async def _room(server: RedisNode) -> int:
    """Return the average number of entries a bucket may have so that none becomes a hash table."""
    try:
        found = await server.execute_command("CONFIG", "GET", "hash-max-listpack-entries")
    except ResponseError:  # CONFIG is not allowed
        return FILL
    values = list(found.values()) if isinstance(found, dict) else list(found)[1::2]
    return max(int(values[0]) * 2 // 5, 1) if values else FILL


def _unavailable(error: Exception) -> FrontierUnavailable:
    why, hint = translate_error(error)
    return FrontierUnavailable(f"the shared URL filter cannot be used: {why}", hint=hint)


def packed(fingerprints: Sequence[bytes]) -> bytes:
    """Return the fingerprints concatenated."""
    joined = b"".join(fingerprints)
    if len(joined) != SIZE * len(fingerprints):
        raise ValueError("fingerprints have sixteen bytes")
    return joined


def _flagged(groups: Sequence[tuple[int, Sequence[bytes]]], answers: Sequence[Any]) -> set[bytes]:
    """Return the fingerprints whose flag in the answers is set."""
    known: set[bytes] = set()
    for (_, group), answer in zip(groups, answers, strict=True):
        if not isinstance(answer, bytes) or len(answer) != len(group):
            raise FrontierUnavailable("the shared URL filter returned an unexpected response")
        known.update(one for one, flag in zip(group, answer, strict=True) if flag == ord("1"))
    return known


def totals(answers: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return the sums of new and refused fingerprints."""
    return sum(answer[0] for answer in answers), sum(answer[1] for answer in answers)
