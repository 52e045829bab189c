"""A PostgreSQL that restarts, is slow or has no room left."""

from __future__ import annotations

import contextlib
import time
from functools import partial

from smartspider.testing.chaos.fault import Fault
from smartspider.testing.chaos.scene import Scene
from smartspider.testing.chaos.setup import Setup
from smartspider.testing.chaos.staff import until

SLOW_S = 0.1
MB = 1_000_000
STILL_S = 4.0
FLAT = 1.6
"""How much more memory a worker may have when the store is slow."""


def restart(scene: Scene, *, is_killed: bool) -> None:
    """The store goes away in the middle of everything and comes back."""
    postgres = scene.yard.postgres
    for share in (0.2, 0.45):
        scene.until_share(share)
        scene.breaks()
        if is_killed:
            postgres.kill()
            postgres.start()
        else:
            postgres.restart()
        scene.until_more(5)


def slow(scene: Scene) -> None:
    """Every statement takes ten times as long: in flight and memory stay bounded."""
    scene.until_share(0.15)
    before = max(worker.memory_bytes() for worker in scene.workers)
    scene.breaks()
    scene.yard.store_proxy.latency_s = SLOW_S
    scene.until_share(0.5, within_s=120.0)
    leased = scene.truth.number("SELECT coalesce(sum(leased), 0) FROM load")
    after = max(worker.memory_bytes() for worker in scene.workers)
    scene.yard.store_proxy.latency_s = 0.0
    most = scene.setup.workers * scene.setup.slots
    scene.check(leased <= most, f"{leased} requests were in flight, {most} are allowed")
    scene.check(after < FLAT * before, f"a worker grew from {before // MB} to {after // MB} MB")
    scene.notes.append(f"worker {before // MB} -> {after // MB} MB")


def fill_disk(scene: Scene) -> None:
    """No room is left for the store: nothing more is fetched and the reason is told; with room it goes on."""
    disk = scene.yard.disk
    assert disk is not None
    scene.until_share(0.1)
    scene.breaks()
    ballast = disk.folder / "ballast"
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(MB))
            file.flush()
    until(lambda: _is_told(scene, "No space left"), "a worker says that there is no room", 30.0)
    until(lambda: _silence_s(scene) > STILL_S, "nothing more is fetched", 30.0)
    scene.check(not scene.is_over(), f"the run is {scene.run().state} with a full disk")
    ballast.unlink()
    scene.until_more(3)


def _is_told(scene: Scene, words: str) -> bool:
    """Whether a worker wrote it down where its machine keeps logs."""
    logs = [path for worker in scene.workers for path in worker.folder.rglob("*.jsonl")]
    return any(words in path.read_text(encoding="utf-8", errors="replace") for path in logs)


def _silence_s(scene: Scene) -> float:
    return time.monotonic() - max(visit.at for visit in scene.site.visits())


FAULTS = (
    Fault(
        name="postgres-restart",
        row="PostgreSQL restart",
        expected="0 lost, 0 doubled",
        act=partial(restart, is_killed=False),
        setup=Setup(pages=150),
        is_short=True,
    ),
    Fault(
        name="postgres-killed",
        row="PostgreSQL kill -9 and recovery",
        expected="0 lost, 0 doubled",
        act=partial(restart, is_killed=True),
    ),
    Fault(
        name="store-slow",
        row="store 10x slower",
        expected="bounded in flight, flat memory, 0 lost, 0 doubled",
        act=slow,
        setup=Setup(is_proxied=True, pages=300, delay_s=0.0, patience_s=120.0),
    ),
    Fault(
        name="disk-full",
        row="store disk full",
        expected="the crawl stands still and says why, 0 lost, 0 doubled after",
        act=fill_disk,
        setup=Setup(small_disk_bytes=120 * MB, pages=300, patience_s=120.0),
    ),
)
