"""The lossy filter of a data folder: shared by processes and kept, until the machine is started anew."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from smartspider.backends.sqlite import seen as module
from smartspider.backends.sqlite.seen import FOLDER, FolderBloom
from smartspider.core.bloom import FIRST_CAPACITY
from smartspider.core.errors import StoreUnavailable
from smartspider.interfaces.seen import ExactSeen, Seen
from smartspider_testing.contracts import ExactSeenContract, SeenContract
from smartspider_testing.contracts.seen import AMPLE, RUN, Make, fingerprints
from smartspider_testing.memory_seen import MemorySeen


class TestMemorySeen(ExactSeenContract):
    @pytest.fixture
    def make(self) -> Make[ExactSeen]:
        made: dict[int, ExactSeen] = {}

        async def make(max_bytes: int) -> ExactSeen:
            return made.setdefault(max_bytes, MemorySeen(max_bytes))

        return make


class TestFolderBloom(SeenContract[Seen]):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Iterator[Make[Seen]]:
        made: list[FolderBloom] = []

        async def make(max_bytes: int) -> Seen:
            made.append(FolderBloom(tmp_path, max_bytes=max_bytes))
            return made[-1]

        yield make
        for one in made:
            one.close()


@pytest.fixture
def bloom(tmp_path: Path) -> Iterator[FolderBloom]:
    made = FolderBloom(tmp_path, max_bytes=AMPLE)
    yield made
    made.close()


async def test_another_process_knows_what_was_added_and_a_kill_loses_nothing(
    tmp_path: Path, bloom: FolderBloom
) -> None:
    code = """
import asyncio, os, signal, sys
from pathlib import Path
from smartspider.backends.sqlite.seen import FolderBloom
from smartspider_testing.contracts.seen import RUN, fingerprints
asyncio.run(FolderBloom(Path(sys.argv[1])).add(RUN, fingerprints(0, 20_000)))
os.kill(os.getpid(), signal.SIGKILL)
"""
    await bloom.add(RUN, fingerprints(20_000, 20_001))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path))
    assert await process.wait() == -9
    assert await bloom.known(RUN, fingerprints(0, 40_000)) == set(fingerprints(0, 20_001))


async def test_the_next_start_of_the_machine_begins_from_nothing(
    tmp_path: Path, bloom: FolderBloom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last commits may be lost with the power, and then their URLs are not known."""
    await bloom.add(RUN, fingerprints(0, 20_000))
    bloom.close()
    assert await bloom.known(RUN, fingerprints(0, 1)) == set(fingerprints(0, 1))
    monkeypatch.setattr(module, "boot_id", lambda: "another")
    later = FolderBloom(tmp_path, max_bytes=AMPLE)
    assert await later.known(RUN, fingerprints(0, 20_000)) == set()
    assert (await later.size()).bytes_used == 0
    await later.add(RUN, fingerprints(0, 5))
    assert await later.known(RUN, fingerprints(0, 10)) == set(fingerprints(0, 5))
    later.close()


async def test_a_full_disk_is_a_budget(bloom: FolderBloom, monkeypatch: pytest.MonkeyPatch) -> None:
    await bloom.add(RUN, fingerprints(0, 10))

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    added = await bloom.add(RUN, fingerprints(10, 20_000))
    assert added.refused == 20_000 - FIRST_CAPACITY
    assert await bloom.known(RUN, fingerprints(0, FIRST_CAPACITY)) == set(fingerprints(0, FIRST_CAPACITY))


async def test_a_folder_that_cannot_be_written_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match=r"known URLs in .* cannot be used"):
        await FolderBloom(tmp_path).add(RUN, fingerprints(0, 1))


async def test_asking_makes_no_files(tmp_path: Path, bloom: FolderBloom) -> None:
    assert await bloom.known(RUN, fingerprints(0, 10)) == set()
    await bloom.drop(RUN)
    assert not (tmp_path / FOLDER).exists()
