"""Keepers that freeze or die inside what they do as leader."""

from __future__ import annotations

from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import ClusterProcess, WaitTimeout, wait_until
from smartspider_testing.chaos.setup import ClusterSetup

TAKEOVER_S = 20.0
TO_REDIS = ("keeper.arm", "keeper.drop", "keeper.replay", "keeper.refill")
"""Places where the next thing a leader does is a call to Redis. What it would do to the store after it woke
it finds refused there, or is stopped from by its own clock just before.
"""


def kill_leader(cluster: ChaosCluster) -> None:
    """The leader is killed, twice; the other one takes over."""
    for share in (0.2, 0.5):
        cluster.wait_for_share(share)
        cluster.mark_fault()
        leader = cluster.leader()
        epoch = cluster.store.leader()[1]
        leader.kill()
        wait_until(lambda epoch=epoch: cluster.store.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)  # type: ignore[misc] # bound now
        cluster.keepers[cluster.keepers.index(leader)] = cluster.start_process("keeper")
        cluster.wait_for_pages(5)


def stop_leader(cluster: ChaosCluster) -> None:
    """The leader is asked to stop, twice; it resigns, and the other one goes on."""
    for share in (0.2, 0.5):
        cluster.wait_for_share(share)
        cluster.mark_fault()
        leader = cluster.leader()
        epoch = cluster.store.leader()[1]
        leader.leave()
        wait_until(lambda epoch=epoch: cluster.store.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)  # type: ignore[misc] # bound now
        cluster.keepers[cluster.keepers.index(leader)] = cluster.start_process("keeper")
        cluster.wait_for_pages(5)


def freeze_leader(cluster: ChaosCluster) -> None:
    """The leader is frozen anywhere until another leads, then goes on."""
    cluster.wait_for_share(0.25)
    cluster.mark_fault()
    leader, epoch = cluster.leader(), cluster.store.leader()[1]
    leader.freeze()
    wait_until(lambda: cluster.store.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)
    cluster.wait_for_pages(10)
    leader.resume()
    _steps_back(cluster, leader)
    cluster.wait_for_pages(10)


def freeze_inside(cluster: ChaosCluster, place: str) -> None:
    """The leader is frozen between what it read and what it writes; another leads; then it goes on."""
    for keeper in cluster.keepers:
        keeper.kill()
    frozen = cluster.start_process("keeper", SMARTSPIDER_FREEZE_AT=f"{place}:1")
    cluster.keepers[:] = [frozen]
    cluster.start_run()
    provoke(cluster, place)
    try:
        wait_until(frozen.is_frozen, f"the keeper is inside {place}", 40.0)
    except WaitTimeout as overdue:
        cluster.problems.append(str(overdue))
        return
    cluster.mark_fault()
    epoch = cluster.store.leader()[1]
    cluster.keepers.append(cluster.start_process("keeper"))
    wait_until(lambda: cluster.store.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)
    if place != "keeper.complete":
        cluster.wait_for_pages(10)
    before = cluster.count_refused("old_epoch")
    frozen.resume()
    if place in TO_REDIS:
        wait_until(
            lambda: cluster.count_refused("old_epoch") > before,
            "what it writes is refused, and counted",
            20.0,
        )
    _steps_back(cluster, frozen)


def _steps_back(cluster: ChaosCluster, keeper: ClusterProcess) -> None:
    """An old leader that wakes says that it leads no more, and waits like the others."""
    wait_until(
        lambda: keeper.has_logged("keeper.term_over"), "the old leader says that its term is over", 20.0
    )
    cluster.check(keeper.is_running, "the old leader ended instead of stepping back")
    refused = "keeper.refused" if keeper.has_logged("keeper.refused") else "by its own clock"
    cluster.notes.append(f"{cluster.count_refused('old_epoch')} calls refused, {refused}")


def provoke(cluster: ChaosCluster, place: str) -> None:
    """Do what makes a leader come to a place."""
    if place == "keeper.drop":
        second = cluster.start_run("second")
        cluster.checked_command("run", "cancel", str(second))


FAULTS = (
    Fault(
        name="keeper-killed",
        row="leading keeper kill -9",
        expected="0 lost, 0 doubled",
        inject=kill_leader,
        setup=ClusterSetup(keepers=2),
    ),
    Fault(
        name="keeper-stopped",
        row="leading keeper asked to stop (SIGTERM)",
        expected="0 lost, 0 doubled, the next one goes on at once",
        inject=stop_leader,
        setup=ClusterSetup(keepers=2),
        max_outage_s=3.0,
    ),
    Fault(
        name="keeper-frozen",
        row="leading keeper SIGSTOPped until another leads, then CONT",
        expected="its writes refused, 0 lost, 0 doubled",
        inject=freeze_leader,
        setup=ClusterSetup(keepers=2, pages=180),
        is_short=True,
    ),
    *(
        Fault(
            name=f"keeper-frozen-{place.partition('.')[2]}",
            row=f"keeper SIGSTOPped inside {place.partition('.')[2]}, then CONT",
            expected="its writes refused, 0 lost, 0 doubled",
            inject=partial(freeze_inside, place=place),
            setup=ClusterSetup(hosts=1, latency_s=0.0, delay_s=0.0, pages=1600, is_wide=True)
            if place == "keeper.refill"
            else ClusterSetup(),
            starts_run=False,
        )
        for place in failpoints.LEADER
    ),
)
