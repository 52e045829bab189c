"""The network between the processes and their servers."""

from __future__ import annotations

import time
from functools import partial
from typing import Literal

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import until
from smartspider_testing.servers import TcpProxy

AWAY_S = 3.0
LATENCY_S = 0.25
"""Each way, so half a second for an answer."""
PROXIED = Setup(is_proxied=True, pages=240)

Part = Literal["store", "frontier"]
SERVERS: tuple[tuple[Part, str], ...] = (("store", "PostgreSQL"), ("frontier", "Redis"))


def _proxy(scene: Scene, part: Part) -> TcpProxy:
    return scene.yard.store_proxy if part == "store" else scene.yard.frontier_proxy


def _wait(seconds: float) -> None:
    end_at = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end_at, "the fault has lasted", seconds + 5.0)


def cut(scene: Scene, part: Part) -> None:
    """All connections are reset and refused for a while, twice."""
    proxy = _proxy(scene, part)
    for share in (0.2, 0.5):
        scene.until_share(share)
        scene.breaks()
        proxy.cut()
        _wait(AWAY_S)
        proxy.restore()
        scene.until_more(5)


def half_open(scene: Scene, part: Part) -> None:
    """Nothing answers and nothing closes, longer than anybody waits."""
    proxy = _proxy(scene, part)
    scene.until_share(0.3)
    scene.breaks()
    proxy.freeze()
    _wait(4 * AWAY_S)
    proxy.thaw()
    scene.until_more(5)


def latency(scene: Scene, part: Part) -> None:
    """Half a second for every answer."""
    proxy = _proxy(scene, part)
    scene.until_share(0.2)
    scene.breaks()
    proxy.latency_s = LATENCY_S
    scene.until_more(40, within_s=120.0)
    proxy.latency_s = 0.0


def unknown_commit(scene: Scene) -> None:
    """The store commits and nobody hears of it, five times."""
    scene.until_share(0.15)
    scene.breaks()
    for _ in range(5):
        sprung = scene.yard.store_proxy.drop_answer_once(b"COMMIT")
        until(sprung.is_set, "a commit was sent", 30.0)
        scene.until_more(3)
    scene.notes.append("5 answers dropped")


FAULTS = (
    *(
        Fault(
            name=f"{part}-{name}",
            row=f"{words} to {server}",
            expected="0 lost, 0 doubled",
            act=partial(act, part=part),
            setup=PROXIED,
        )
        for part, server in SERVERS
        for name, words, act in (
            ("cut", "cuts", cut),
            ("half-open", "half-open connections", half_open),
            ("latency", "500 ms latency", latency),
        )
    ),
    Fault(
        name="unknown-commit",
        row="commit with unknown outcome",
        expected="0 lost, 0 doubled",
        act=unknown_commit,
        setup=PROXIED,
    ),
)
