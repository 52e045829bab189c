"""Clocks that are wrong by an hour."""

from __future__ import annotations

from functools import partial

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.servers.clock import FakedClock

HOUR_S = 3600.0


def worker_clock(scene: Scene, offset_s: float) -> None:
    """A worker lives an hour away from the others, and its clock jumps back in the middle."""
    scene.until_share(0.15)
    scene.breaks()
    old = scene.workers[0]
    old.kill()
    folder = scene.folder / "clock"
    folder.mkdir()
    clock = FakedClock(folder, offset_s)
    worker = scene.replace(old, **clock.environment())
    scene.until_share(0.5)
    clock.set(0.0)
    scene.until_more(10)
    scene.check(worker.is_running, "the worker with the wrong clock ended")


def redis_clock(scene: Scene, offset_s: float) -> None:
    """The clock of Redis jumps by an hour, and back."""
    scene.until_share(0.2)
    scene.breaks()
    scene.yard.redis.set_clock(offset_s)
    scene.until_more(25)
    scene.yard.redis.set_clock(0.0)
    scene.until_more(25)


FAULTS = tuple(
    Fault(
        name=f"{part}-clock-{word}",
        row=f"{part} clock {sign}1 h",
        expected="0 lost, 0 doubled, gap never shorter",
        act=partial(act, offset_s=offset_s),
        setup=setup,
    )
    for part, act, setup in (
        ("worker", worker_clock, Setup(delay_s=0.2, pages=240)),
        ("redis", redis_clock, Setup(delay_s=0.2, pages=240, redis_clock_s=0.0)),
    )
    for word, sign, offset_s in (("ahead", "+", HOUR_S), ("behind", "-", -HOUR_S))
)
