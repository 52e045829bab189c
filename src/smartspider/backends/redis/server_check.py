"""Checking the settings of a Redis server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from redis.exceptions import ResponseError

from smartspider.backends.redis.address import RedisAddress
from smartspider.backends.redis.servers import RedisNode
from smartspider.core.errors import FrontierUnfit

OLDEST = (7, 0)
COMMANDS = (["INFO", "server"], ["CONFIG", "GET", "maxmemory-policy", "appendonly"])
"""Commands whose answers `refusal` checks."""

log = logging.getLogger(__name__)


async def check(server: RedisNode, address: RedisAddress) -> None:
    """Raise `FrontierUnfit` unless the server is suitable for queues."""
    about, settings = COMMANDS
    answers: list[Any] = [await server.execute_command(*about)]
    try:
        answers.append(await server.execute_command(*settings))
    except ResponseError as error:
        log.warning(
            "The Redis at %s does not show its settings: see to it that maxmemory-policy is noeviction and"
            " appendonly is yes.",
            address.shown,
        )
        answers.append(error)
    if (found := refusal(answers, address)) is not None:
        raise found


def refusal(answers: Sequence[Any], address: RedisAddress) -> FrontierUnfit | None:
    """Return why a server with these answers is unsuitable. Hidden settings are accepted."""
    about, settings = answers
    version = "" if isinstance(about, Exception) else _text(about.get("redis_version", "0"))
    if version and tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        reason = f"is {version}; functions need 7.0 or newer"
        return FrontierUnfit(reason, hint="update Redis", place=address.shown)
    if isinstance(settings, Exception):
        return None
    found = {_text(name): _text(value) for name, value in _pairs(settings)}
    policy = found.get("maxmemory-policy", "")
    if policy.startswith("allkeys-"):
        return FrontierUnfit(
            f"evicts keys when memory is full (maxmemory-policy {policy})",
            hint="CONFIG SET maxmemory-policy noeviction",
            place=address.shown,
            loses_keys=True,
        )
    if found.get("appendonly") != "yes" and address.is_durable:
        return FrontierUnfit(
            "does not keep its data (appendonly no)",
            hint="CONFIG SET appendonly yes, or add ?persistence=none to the frontier's URL",
            place=address.shown,
        )
    return None


def _pairs(found: Any) -> list[tuple[Any, Any]]:
    return list(found.items()) if isinstance(found, dict) else list(zip(found[::2], found[1::2], strict=True))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
