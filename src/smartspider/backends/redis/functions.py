"""Function libraries on Redis servers: built from files, and loaded before they are called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from smartspider.backends.redis.servers import LOST, RedisNode, RedisServers
from smartspider.core.cancellation import propagate_cancellation


def build_library(package: str, name: str, constants: Mapping[str, float], parts: Iterable[str]) -> str:
    """Return the code of a library: its constants, then the files of a package's
    `library` folder in order.
    """
    folder = resources.files(package) / "lua"
    values = ", ".join(map(str, constants.values()))
    files = [(folder / f"{part}.lua").read_text(encoding="utf-8") for part in parts]
    return "\n".join((f"#!lua name={name}", f"local {', '.join(constants)} = {values}", *files))


async def load(server: RedisNode, name: str, version: int, code: str) -> int:
    """Load a library unless the server has this version or a newer one. Return the version it then has."""
    if await server.execute_command("FUNCTION", "LIST", "LIBRARYNAME", name):
        there = int(await server.execute_command("FCALL_RO", f"{name}_version", 0))
        if there >= version:
            return there
    await server.execute_command("FUNCTION", "LOAD", "REPLACE", code)
    return version


def is_missing(answer: Any) -> bool:
    """Return whether a server reports that it lacks the library."""
    return isinstance(answer, Exception) and "Function not found" in str(answer)


class LoadedLibrary:
    """Servers that are all prepared before the first call, and again after one of them lost its functions."""

    def __init__(self, servers: RedisServers, prepare: Callable[[RedisNode], Awaitable[None]]) -> None:
        self._servers = servers
        self._prepare = prepare
        self._is_ready = False
        self._lock = asyncio.Lock()

    async def calls(self, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
        """Like `RedisServers.calls`, with an error for each call to an unreachable server. After an answer
        that `is_missing`, the library is loaded before the next calls.
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
        """Prepare all servers. Raise one of `LOST` if that fails."""
        if self._is_ready:
            return
        with propagate_cancellation():
            async with self._lock:
                if not self._is_ready:
                    for server in await self._servers.primaries():
                        await self._prepare(server)
                    self._is_ready = True
