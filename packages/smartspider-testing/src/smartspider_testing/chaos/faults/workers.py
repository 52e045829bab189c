"""Workers that die or freeze at any moment."""

from __future__ import annotations

import contextlib
import time
from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import Member, Overdue, until

SETTLE_GROUP = 64
KILL_EVERY_S = 0.5
LEASE_S = 6.0
REACH_S = 20.0
"""How long a worker may take to come to a place it is to die at."""

SETTLING = (
    *(name for name in failpoints.NAMES if name != "settle.retried"),
    *failpoints.CLUSTER,
)
"""Every place of a worker's way from lease to ack that an untroubled page passes."""


def kill_workers(scene: Scene, kills: int) -> None:
    """One after the other, each replaced at once."""
    scene.until_share(0.1)
    scene.breaks()
    done = 0
    while done < kills and not scene.is_over():
        due_at = time.monotonic() + KILL_EVERY_S
        victim = scene.workers[done % len(scene.workers)]
        victim.kill()
        scene.replace(victim)
        done += 1
        until(lambda due_at=due_at: time.monotonic() >= due_at, "the next kill is due", 5.0)  # type: ignore[misc] # bound now
    scene.check(done == kills, f"the run was over after {done} of {kills} kills")
    scene.allowed_extra = done * (scene.setup.slots + SETTLE_GROUP)
    scene.notes.append(f"{done} kills")


def die_at(scene: Scene, places: tuple[str, ...]) -> None:
    """At each place one worker dies, several of them at a time; one that is well goes on."""
    scene.until_share(0.02)
    scene.breaks()
    victims = scene.workers[1:]
    for victim in victims:
        victim.kill()
    for first in range(0, len(places), len(victims)):
        batch = places[first : first + len(victims)]
        _die(scene, dict(zip(batch, victims, strict=False)))
        victims = scene.workers[1:]
    scene.site.behave(failing=[])
    for victim in victims:
        victim.kill()
        scene.replace(victim)
    scene.notes.append(f"{len(places)} places")


def _die(scene: Scene, victims: dict[str, Member]) -> None:
    """A worker for each of the places, until all of them are dead."""
    dying = {}
    for place, victim in victims.items():
        victim.kill()
        dying[place] = scene.replace(victim, SMARTSPIDER_DIE_AT=f"{place}:2")
    with contextlib.suppress(Overdue):
        until(lambda: not any(one.is_running for one in dying.values()) or scene.is_over(), "", REACH_S)
    when = "before the run was over" if scene.is_over() else f"within {REACH_S:g} s"
    scene.problems += [f"{place} was not come to {when}" for place, one in dying.items() if one.is_running]


def retry_dies(scene: Scene) -> None:
    """A worker dies while it puts a page off."""
    scene.site.behave(failing=[str(page) for page in range(0, scene.setup.pages, 5)])
    die_at(scene, ("settle.retried",))


def freeze_worker(scene: Scene) -> None:
    """A worker with a fetched page sleeps for two lease times; others do its work; then it brings it."""
    scene.until_share(0.1)
    old = scene.workers[0]
    old.kill()
    victim = scene.replace(old, SMARTSPIDER_FREEZE_AT="fetch.received:3")
    until(victim.is_frozen, "a worker holds a fetched page", 30.0)
    scene.breaks()
    thaw_at = time.monotonic() + 2 * LEASE_S
    until(lambda: time.monotonic() >= thaw_at, "two lease times", 3 * LEASE_S)
    scene.check(not scene.is_over(), "the run was over before the worker woke")
    before = scene.refused("stale")
    victim.thaw()
    until(lambda: scene.run().late > 0, "what it brings is late", 20.0)
    until(lambda: scene.refused("stale") > before, "its ack is refused, and counted", 20.0)
    until(lambda: victim.said("leases.refused"), "it is told so", 20.0)
    scene.check(victim.is_running, "the worker ended when it woke")
    line = scene.run()
    refused = scene.refused("stale") - before
    scene.notes.append(f"{line.returns} leases returned, {line.late} late, {refused} calls refused")


FAULTS = (
    Fault(
        name="kill-workers",
        row="kill -9 a worker every 0.5 s",
        expected="0 lost, 0 doubled; extra fetches <= kills x (in flight + a settle group)",
        act=partial(kill_workers, kills=12),
        setup=Setup(pages=300, workers=4),
    ),
    Fault(
        name="kill-workers-short",
        row="kill -9 a worker every 0.5 s (short)",
        expected="0 lost, 0 doubled",
        act=partial(kill_workers, kills=4),
        setup=Setup(pages=120),
        is_short=True,
    ),
    Fault(
        name="fail-points",
        row="a worker dies between every two steps of settle, offer, ack",
        expected="0 lost, 0 doubled",
        act=partial(die_at, places=SETTLING),
        setup=Setup(pages=700, workers=4, delay_s=0.2, patience_s=120.0),
    ),
    Fault(
        name="fail-point-retry",
        row="a worker dies while a retry is settled",
        expected="0 lost, 0 doubled",
        act=retry_dies,
        setup=Setup(pages=120),
    ),
    Fault(
        name="worker-frozen",
        row="worker SIGSTOP for two lease times, then CONT",
        expected="its ack is refused, 0 doubled, gap held",
        act=freeze_worker,
        setup=Setup(
            pages=600, delay_s=0.2, environment={"SMARTSPIDER_TEST_LEASE_S": f"{LEASE_S:g}"}, patience_s=120.0
        ),
    ),
)
