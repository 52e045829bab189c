"""The URL filters of an installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from smartspider.core.errors import SettingInvalid
from smartspider.installation.setting_parsers import DEDUP_MODES, dedup_mode
from smartspider.wiring.dedup import FilterLocation, open_filters
from smartspider_testing.contracts.url_filter import RUN, fingerprints
from smartspider_testing.servers import RedisServer


async def test_a_data_folder_has_the_lossy_filter_only(tmp_path: Path) -> None:
    async with open_filters(FilterLocation(tmp_path, mode="exact")) as layers:
        assert (layers.exact, layers.estimates) == (None, None)
        assert layers.lossy is not None
        await layers.lossy.add(RUN, fingerprints(0, 3))
    async with open_filters(FilterLocation(tmp_path)) as layers:
        assert layers.lossy is not None
        assert await layers.lossy.find_known(RUN, fingerprints(0, 4)) == set(fingerprints(0, 3))


async def test_a_cluster_has_them_in_its_redis(tmp_path: Path, empty_redis: RedisServer) -> None:
    async with open_filters(FilterLocation(tmp_path, empty_redis.url, "exact", max_bytes=1000)) as layers:
        assert layers.exact is not None
        assert (await layers.exact.add(RUN, fingerprints(0, 50))).refused == 10


def test_modes_are_named() -> None:
    assert [dedup_mode(mode) for mode in DEDUP_MODES] == list(DEDUP_MODES)
    with pytest.raises(SettingInvalid, match="SMARTSPIDER_DEDUP is 'on'"):
        dedup_mode("on")


def test_a_data_folder_needs_no_redis_library() -> None:
    code = """
import asyncio, sys
from pathlib import Path
from smartspider.wiring.dedup import FilterLocation, open_filters
async def main():
    async with open_filters(FilterLocation(Path("."))):
        pass
asyncio.run(main())
sys.exit("redis" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
