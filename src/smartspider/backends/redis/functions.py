"""A library of functions on the servers: put together from its files, there before it is called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from smartspider.backends.redis.servers import LOST, RedisNode, RedisServers
from smartspider.core.cancellation import propagate_cancellation


def build_library(package: str, name: str, constants: Mapping[str, float], parts: Iterable[str]) -> str:
    """The code of a library from the files of a package's `library` folder, in order, after its constants."""
    folder = resources.files(package) / "library"
    values = ", ".join(map(str, constants.values()))
    files = [(folder / f"{part}.lua").read_text(encoding="utf-8") for part in parts]
    return "\n".join((f"#!lua name={name}", f"local {', '.join(constants)} = {values}", *files))


async def load(server: RedisNode, name: str, version: int, code: str) -> int:
    """Put a library on a server unless it has this version or a newer one; the version it has then."""
    if await server.execute_command("FUNCTION", "LIST", "LIBRARYNAME", name):
        there = int(await server.execute_command("FCALL_RO", f"{name}_version", 0))
        if there >= version:
            return there
    await server.execute_command("FUNCTION", "LOAD", "REPLACE", code)
    return version


def is_missing(answer: Any) -> bool:
    """Whether a server says that it does not have the library."""
    return isinstance(answer, Exception) and "Function not found" in str(answer)


class LoadedLibrary:
    """Servers that are all prepared before the first call, and again after one of them lost its functions."""

    def __init__(self, servers: RedisServers, prepare: Callable[[RedisNode], Awaitable[None]]) -> None:
        self._servers = servers
        self._prepare = prepare
        self._is_ready = False
        self._lock = asyncio.Lock()

    async def calls(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        """As `RedisServers.calls`, but who cannot be reached is an error for each. After one that `is_missing` the
        next calls find the library.
        """
        try:
            await self.prepare()
            with propagate_cancellation():
                answers = await self._servers.calls(calls)
        except LOST as error:
            return [error] * len(calls)
        if any(map(is_missing, answers)):
            self._is_ready = False
        return answers

    async def prepare(self) -> None:
        """See to it that all servers are prepared. Raises one of `LOST` when that cannot be."""
        if self._is_ready:
            return
        with propagate_cancellation():
            async with self._lock:
                if not self._is_ready:
                    for server in await self._servers.primaries():
                        await self._prepare(server)
                    self._is_ready = True
