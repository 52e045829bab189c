"""Keepers that freeze or die inside what they do as leader."""

from __future__ import annotations

from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import Member, Overdue, until

TAKEOVER_S = 20.0
TO_REDIS = ("keeper.arm", "keeper.drop", "keeper.replay", "keeper.refill")
"""Places where the next thing a leader does is a call to Redis. What it would do to the store after it woke
it finds refused there, or is stopped from by its own clock just before.
"""


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


def stop_leader(scene: Scene) -> None:
    """The leader is asked to stop, twice; it resigns, and the other one goes on."""
    for share in (0.2, 0.5):
        scene.until_share(share)
        scene.breaks()
        leader = scene.leader()
        epoch = scene.truth.leader()[1]
        leader.leave()
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
    _steps_back(scene, leader)
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
    before = scene.refused("old_epoch")
    frozen.thaw()
    if place in TO_REDIS:
        until(lambda: scene.refused("old_epoch") > before, "what it writes is refused, and counted", 20.0)
    _steps_back(scene, frozen)


def _steps_back(scene: Scene, keeper: Member) -> None:
    """An old leader that wakes says that it leads no more, and waits like the others."""
    until(lambda: keeper.said("keeper.term_over"), "the old leader says that its term is over", 20.0)
    scene.check(keeper.is_running, "the old leader ended instead of stepping back")
    refused = "keeper.refused" if keeper.said("keeper.refused") else "by its own clock"
    scene.notes.append(f"{scene.refused('old_epoch')} calls refused, {refused}")


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
        name="keeper-stopped",
        row="leading keeper asked to stop (SIGTERM)",
        expected="0 lost, 0 doubled, the next one goes on at once",
        act=stop_leader,
        setup=Setup(keepers=2),
        max_outage_s=3.0,
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
