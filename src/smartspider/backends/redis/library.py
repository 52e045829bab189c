"""The function library of the frontier: its files and its version."""

from __future__ import annotations

from functools import lru_cache

from smartspider.backends.redis import functions
from smartspider.backends.redis.servers import RedisNode
from smartspider.core.errors import FrontierUnavailable
from smartspider.interfaces.frontier_index import LAPSE_S

NAME = "smartspider"
VERSION = 9
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


@lru_cache(maxsize=2)
def source(*, is_settable: bool = False) -> str:
    """Return the whole library. A settable one reads a clock that tests set."""
    names = ("wall_settable" if is_settable else "wall", *PARTS)
    return functions.build_library(__package__, NAME, {"VERSION": VERSION, "LAPSE_S": LAPSE_S}, names)


async def load(server: RedisNode, code: str) -> None:
    """Load the library unless the server has this version; a newer one is never replaced."""
    there = await functions.load(server, NAME, VERSION, code)
    if there > VERSION:
        raise FrontierUnavailable(
            f"the frontier's Redis serves version {there} of the library, this program knows {VERSION}",
            hint="update this program: another process of the same installation is newer",
        )
