"""Keepers that freeze or die during the duties of a leader."""

from __future__ import annotations

from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import ClusterProcess, WaitTimeout, wait_until
from smartspider_testing.chaos.setup import ClusterSetup

TAKEOVER_S = 20.0
TO_REDIS = ("keeper.arm", "keeper.drop", "keeper.replay", "keeper.refill")
"""Fail points followed by a call to Redis. A write to the store after the freeze is refused there, or
prevented
by the leader's own clock.
"""


def kill_leader(cluster: ChaosCluster) -> None:
    """Kill the leader twice; the standby takes over."""
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
    """Stop the leader twice; it resigns, and the standby takes over."""
    for share in (0.2, 0.5):
        cluster.wait_for_share(share)
        cluster.mark_fault()
        leader = cluster.leader()
        epoch = cluster.store.leader()[1]
        leader.terminate()
        wait_until(lambda epoch=epoch: cluster.store.leader()[1] > epoch, "another keeper leads", TAKEOVER_S)  # type: ignore[misc] # bound now
        cluster.keepers[cluster.keepers.index(leader)] = cluster.start_process("keeper")
        cluster.wait_for_pages(5)


def freeze_leader(cluster: ChaosCluster) -> None:
    """Freeze the leader at any point until another leads, then resume it."""
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
    """Freeze the leader between a read and the write that follows; resume it once another leads."""
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
    """Check that a resumed leader reports the loss of its leadership and stands by."""
    wait_until(
        lambda: keeper.has_logged("keeper.term_over"), "the old leader reports that its term has ended", 20.0
    )
    cluster.check(keeper.is_running, "the old leader ended instead of stepping back")
    refused = "keeper.refused" if keeper.has_logged("keeper.refused") else "by its own clock"
    cluster.notes.append(f"{cluster.count_refused('old_epoch')} calls refused, {refused}")


def provoke(cluster: ChaosCluster, place: str) -> None:
    """Trigger the duty that reaches a fail point."""
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
        expected="0 lost, 0 duplicated, the standby takes over immediately",
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
