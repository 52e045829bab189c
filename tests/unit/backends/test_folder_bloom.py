"""The lossy filter of a data folder: shared by processes and kept, until the machine is started anew."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from smartspider.backends.sqlite.dedup import FOLDER, FolderBloomFilter
from smartspider.core.errors import StoreUnavailable
from smartspider.dedup.bloom import FIRST_CAPACITY
from smartspider.dedup.url_filter import ExactUrlFilter, UrlFilter
from smartspider_testing.backends.memory_url_filter import MemoryUrlFilter
from smartspider_testing.contracts import ExactUrlFilterContract, UrlFilterContract
from smartspider_testing.contracts.url_filter import AMPLE, RUN, Make, fingerprints


class TestMemoryUrlFilter(ExactUrlFilterContract):
    @pytest.fixture
    def make(self) -> Make[ExactUrlFilter]:
        made: dict[int, ExactUrlFilter] = {}

        async def make(max_bytes: int) -> ExactUrlFilter:
            return made.setdefault(max_bytes, MemoryUrlFilter(max_bytes))

        return make


class TestFolderBloom(UrlFilterContract[UrlFilter]):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Make[UrlFilter]]:
        made: list[FolderBloomFilter] = []

        async def make(max_bytes: int) -> UrlFilter:
            made.append(FolderBloomFilter(tmp_path, max_bytes=max_bytes))
            return made[-1]

        yield make
        for one in made:
            one.close()


@pytest.fixture
def bloom(tmp_path: Path) -> Iterator[FolderBloomFilter]:
    made = FolderBloomFilter(tmp_path, max_bytes=AMPLE)
    yield made
    made.close()


async def test_another_process_knows_what_was_added_and_a_kill_loses_nothing(
    tmp_path: Path, bloom: FolderBloomFilter
) -> None:
    code = """
import asyncio, os, signal, sys
from pathlib import Path
from smartspider.backends.sqlite.dedup import FolderBloomFilter
from smartspider_testing.contracts.url_filter import RUN, fingerprints
asyncio.run(FolderBloomFilter(Path(sys.argv[1])).add(RUN, fingerprints(0, 20_000)))
os.kill(os.getpid(), signal.SIGKILL)
"""
    await bloom.add(RUN, fingerprints(20_000, 20_001))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path))
    assert await process.wait() == -9
    assert await bloom.find_known(RUN, fingerprints(0, 40_000)) == set(fingerprints(0, 20_001))


async def test_the_next_start_of_the_machine_begins_from_nothing(
    tmp_path: Path, bloom: FolderBloomFilter
) -> None:
    """The last commits may be lost with the power, and then their URLs are not known."""
    await bloom.add(RUN, fingerprints(0, 20_000))
    bloom.close()
    assert await bloom.find_known(RUN, fingerprints(0, 1)) == set(fingerprints(0, 1))
    later = FolderBloomFilter(tmp_path, max_bytes=AMPLE, boot="another")
    assert await later.find_known(RUN, fingerprints(0, 20_000)) == set()
    assert (await later.size()).bytes_used == 0
    await later.add(RUN, fingerprints(0, 5))
    assert await later.find_known(RUN, fingerprints(0, 10)) == set(fingerprints(0, 5))
    later.close()


async def test_a_full_disk_is_a_budget(bloom: FolderBloomFilter, monkeypatch: pytest.MonkeyPatch) -> None:
    await bloom.add(RUN, fingerprints(0, 10))

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)  # a disk cannot be filled here
    added = await bloom.add(RUN, fingerprints(10, 20_000))
    assert added.refused == 20_000 - FIRST_CAPACITY
    assert await bloom.find_known(RUN, fingerprints(0, FIRST_CAPACITY)) == set(
        fingerprints(0, FIRST_CAPACITY)
    )


async def test_a_folder_that_cannot_be_written_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match="known-urls"):
        await FolderBloomFilter(tmp_path).add(RUN, fingerprints(0, 1))


async def test_asking_makes_no_files(tmp_path: Path, bloom: FolderBloomFilter) -> None:
    assert await bloom.find_known(RUN, fingerprints(0, 10)) == set()
    await bloom.drop(RUN)
    assert not (tmp_path / FOLDER).exists()
