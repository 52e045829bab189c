"""The Functions library: put together from its files, loaded where it is missing or older."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any, Protocol

from smartspider.core.errors import FrontierUnavailable
from smartspider.interfaces.index import LAPSE_S

NAME = "smartspider"
VERSION = 2
"""Raised with every change of the library."""

PARTS = (
    "clock",
    "owner",
    "keys",
    "gate",
    "lanes",
    "settle",
    "placement",
    "lease",
    "sharing",
    "leader",
    "demand",
    "check",
    "register",
)
"""Its files in order: each may use those before it."""


class Server(Protocol):
    """One Redis server that takes commands."""

    async def execute_command(self, *args: Any) -> Any:
        """Send a command."""


@lru_cache(maxsize=2)
def source(*, is_settable: bool = False) -> str:
    """The whole library. A settable one reads a clock that suites turn by hand."""
    folder = resources.files(__package__) / "library"
    names = ("wall_settable" if is_settable else "wall", *PARTS)
    parts = [(folder / f"{name}.lua").read_text(encoding="utf-8") for name in names]
    return "\n".join((f"#!lua name={NAME}", f"local VERSION, LAPSE_S = {VERSION}, {LAPSE_S}", *parts))


async def load(server: Server, code: str) -> None:
    """Put the library on a server unless it has this version; a newer one is never replaced."""
    there = await _version(server)
    if there is not None and there > VERSION:
        raise FrontierUnavailable(
            f"the frontier's Redis serves version {there} of the library, this program knows {VERSION}",
            hint="update this program: another one of the same installation is newer",
        )
    if there is None or there < VERSION:
        await server.execute_command("FUNCTION", "LOAD", "REPLACE", code)


async def _version(server: Server) -> int | None:
    found = await server.execute_command("FUNCTION", "LIST", "LIBRARYNAME", NAME)
    return int(await server.execute_command("FCALL_RO", f"{NAME}_version", 0)) if found else None
