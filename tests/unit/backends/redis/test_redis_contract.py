"""The promises of `interfaces/frontier.py`, over a frontier on Redis and rows in memory."""

from __future__ import annotations

import pytest
from tests.unit.backends.redis.contract_ground import SceneGround
from tests.unit.backends.redis.grounds import Scene

from smartspider.testing.contracts.frontier import FrontierContract
from smartspider.testing.contracts.ground import Ground


class TestRedisFrontier(FrontierContract):
    """One server, one shard."""

    @pytest.fixture
    def ground(self, scene: Scene) -> Ground:
        return SceneGround(scene)
