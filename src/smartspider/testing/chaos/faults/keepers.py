"""Keepers that freeze or die inside what they do as leader."""

from __future__ import annotations

from functools import partial

from smartspider.core import failpoints
from smartspider.testing.chaos.fault import Fault
from smartspider.testing.chaos.scene import Scene
from smartspider.testing.chaos.setup import Setup
from smartspider.testing.chaos.staff import Overdue, until

TAKEOVER_S = 20.0


def kill_leader(scene: Scene) -> None:
    """The leader is killed, twice; the other one takes over."""
    for share in (0.2, 0.5):
        scene.until_share(share)
        scene.breaks()
        leader = scene.leader()
        epoch = scene.truth.leader()[1]
        leader.kill()
        until(lambda epoch=epoch: scene.truth.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)  # type: ignore[misc] # bound now
        scene.keepers[scene.keepers.index(leader)] = scene.hire("keeper")
        scene.until_more(5)


def freeze_leader(scene: Scene) -> None:
    """The leader is frozen anywhere until another leads, then goes on."""
    scene.until_share(0.25)
    scene.breaks()
    leader, epoch = scene.leader(), scene.truth.leader()[1]
    leader.freeze()
    until(lambda: scene.truth.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)
    scene.until_more(10)
    leader.thaw()
    scene.until_more(10)


def freeze_inside(scene: Scene, place: str) -> None:
    """The leader is frozen between what it read and what it writes; another leads; then it goes on."""
    for keeper in scene.keepers:
        keeper.kill()
    frozen = scene.hire("keeper", SMARTSPIDER_FREEZE_AT=f"{place}:1")
    scene.keepers[:] = [frozen]
    scene.begin()
    provoke(scene, place)
    try:
        until(frozen.is_frozen, f"the keeper is inside {place}", 40.0)
    except Overdue as overdue:
        scene.problems.append(str(overdue))
        return
    scene.breaks()
    epoch = scene.truth.leader()[1]
    scene.keepers.append(scene.hire("keeper"))
    until(lambda: scene.truth.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)
    if place != "keeper.complete":
        scene.until_more(10)
    frozen.thaw()
    scene.check(frozen.is_running, "the old leader ended instead of stepping back")


def provoke(scene: Scene, place: str) -> None:
    """Do what makes a leader come to a place."""
    if place == "keeper.drop":
        second = scene.begin("second")
        scene.must("run", "cancel", str(second))


FAULTS = (
    Fault(
        name="keeper-killed",
        row="leading keeper kill -9",
        expected="0 lost, 0 doubled",
        act=kill_leader,
        setup=Setup(keepers=2),
    ),
    Fault(
        name="keeper-frozen",
        row="leading keeper SIGSTOPped until another leads, then CONT",
        expected="its writes refused, 0 lost, 0 doubled",
        act=freeze_leader,
        setup=Setup(keepers=2, pages=180),
        is_short=True,
    ),
    *(
        Fault(
            name=f"keeper-frozen-{place.partition('.')[2]}",
            row=f"keeper SIGSTOPped inside {place.partition('.')[2]}, then CONT",
            expected="its writes refused, 0 lost, 0 doubled",
            act=partial(freeze_inside, place=place),
            setup=Setup(hosts=1, latency_s=0.0, delay_s=0.0, pages=1600, is_wide=True)
            if place == "keeper.refill"
            else Setup(),
            begins=False,
        )
        for place in failpoints.LEADS
    ),
)
