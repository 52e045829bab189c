"""Frontiers on the Redis of the process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.unit.backends.redis.scenes import Scene

from smartspider_testing.servers import RedisServer


@pytest.fixture
async def scene(empty_redis: RedisServer) -> AsyncIterator[Scene]:
    """A frontier that was armed long ago."""
    made = Scene(empty_redis.url)
    await made.keeper.start()
    yield made
    await made.end()
