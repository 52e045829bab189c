"""Workers that die or freeze at any point."""

from __future__ import annotations

import contextlib
import time
from functools import partial

from smartspider.core import failpoints
from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import ClusterProcess, WaitTimeout, wait_until
from smartspider_testing.chaos.setup import ClusterSetup

SETTLE_GROUP = 64
KILL_EVERY_S = 0.5
LEASE_S = 6.0
JOINED = "SELECT count(*) FROM worker WHERE gone_at IS NULL"
STANDSTILL_S = 3.0
"""Time that a worker that stands still may hold up other runs."""
REACH_S = 20.0
"""Time within which a worker must reach its fail point."""

SETTLING = (
    *(name for name in failpoints.NAMES if name != "settle.retried"),
    *failpoints.CLUSTER,
)
"""Every fail point from lease to ack that an ordinary page passes."""


def kill_workers(cluster: ChaosCluster, kills: int) -> None:
    """Kill one worker after the other, each replaced at once."""
    cluster.wait_for_share(0.1)
    cluster.mark_fault()
    done = 0
    while done < kills and not cluster.has_ended():
        due_at = time.monotonic() + KILL_EVERY_S
        victim = cluster.workers[done % len(cluster.workers)]
        victim.kill()
        cluster.replace_worker(victim)
        done += 1
        wait_until(lambda due_at=due_at: time.monotonic() >= due_at, "the next kill is due", 5.0)  # type: ignore[misc] # bound now
    cluster.check(done == kills, f"the run ended after {done} of {kills} kills")
    cluster.allowed_extra = done * (cluster.setup.slots + SETTLE_GROUP)
    cluster.notes.append(f"{done} kills")


def die_at(cluster: ChaosCluster, places: tuple[str, ...]) -> None:
    """Kill a worker at each fail point, several at a time; one worker stays alive."""
    cluster.wait_for_share(0.02)
    cluster.mark_fault()
    victims = cluster.workers[1:]
    for victim in victims:
        victim.kill()
    for first in range(0, len(places), len(victims)):
        batch = places[first : first + len(victims)]
        _die(cluster, dict(zip(batch, victims, strict=False)))
        victims = cluster.workers[1:]
    cluster.site.behave(failing=[])
    for victim in victims:
        victim.kill()
        cluster.replace_worker(victim)
    cluster.notes.append(f"{len(places)} places")


def _die(cluster: ChaosCluster, victims: dict[str, ClusterProcess]) -> None:
    """Start a worker for each fail point and wait until all of them have died."""
    dying = {}
    for place, victim in victims.items():
        victim.kill()
        dying[place] = cluster.replace_worker(victim, SMARTSPIDER_DIE_AT=f"{place}:2")
    with contextlib.suppress(WaitTimeout):
        wait_until(
            lambda: not any(one.is_running for one in dying.values()) or cluster.has_ended(), "", REACH_S
        )
    when = "before the run ended" if cluster.has_ended() else f"within {REACH_S:g} s"
    cluster.problems += [f"{place} was not come to {when}" for place, one in dying.items() if one.is_running]


def retry_dies(cluster: ChaosCluster) -> None:
    """Kill a worker while it settles a retry."""
    cluster.site.behave(failing=[str(page) for page in range(0, cluster.setup.pages, 5)])
    die_at(cluster, ("settle.retried",))


def freeze_worker(cluster: ChaosCluster) -> None:
    """Freeze a worker with a fetched page for two lease times; others do its work; then resume it."""
    cluster.wait_for_share(0.1)
    old = cluster.workers[0]
    old.kill()
    victim = cluster.replace_worker(old, SMARTSPIDER_FREEZE_AT="fetch.received:3")
    wait_until(victim.is_frozen, "a worker holds a fetched page", 30.0)
    cluster.mark_fault()
    thaw_at = time.monotonic() + 2 * LEASE_S
    wait_until(lambda: time.monotonic() >= thaw_at, "two lease times", 3 * LEASE_S)
    cluster.check(not cluster.has_ended(), "the run ended before the worker was resumed")
    before = cluster.count_refused("stale")
    victim.resume()
    wait_until(lambda: cluster.get_run().late > 0, "what it brings is late", 20.0)
    wait_until(lambda: cluster.count_refused("stale") > before, "its ack is refused, and counted", 20.0)
    wait_until(lambda: victim.has_logged("leases.refused"), "the worker is notified", 20.0)
    cluster.check(victim.is_running, "the worker ended when it woke")
    line = cluster.get_run()
    refused = cluster.count_refused("stale") - before
    cluster.notes.append(f"{line.returns} leases returned, {line.late} late, {refused} calls refused")


def freeze_settling(cluster: ChaosCluster) -> None:
    """Freeze a worker inside the transaction of a settle; others settle on, in its run and another one."""
    victim = cluster.start_worker(SMARTSPIDER_FREEZE_AT="settle.counted:3")
    everybody = cluster.setup.workers + 1
    wait_until(lambda: cluster.store.query_number(JOINED) == everybody, "all workers have joined", 30.0)
    other = cluster.start_run("other")
    cluster.run_id = 0
    cluster.start_run()
    wait_until(victim.is_frozen, "a worker is frozen inside a settle", 30.0)
    cluster.mark_fault()
    frozen_at = time.monotonic()
    before = {run_id: cluster.get_run(run_id).done for run_id in (cluster.run_id, other)}

    def settles(run_id: int) -> bool:
        return cluster.get_run(run_id).done > before[run_id] or cluster.has_ended(run_id)

    for run_id, within_s in ((other, STANDSTILL_S), (cluster.run_id, LEASE_S)):
        wait_until(lambda run_id=run_id: settles(run_id), f"run {run_id} settles", within_s)  # type: ignore[misc] # bound now
        cluster.notes.append(f"run {run_id} settled after {time.monotonic() - frozen_at:.1f} s")
    cluster.check(not cluster.has_ended(), "the run ended before the worker was resumed")
    victim.resume()
    cluster.wait_for_end(other)
    cluster.check(victim.is_running, "the worker ended when it woke")


FAULTS = (
    Fault(
        name="kill-workers",
        row="kill -9 a worker every 0.5 s",
        expected="0 lost, 0 doubled; extra fetches <= kills x (in flight + a settle group)",
        inject=partial(kill_workers, kills=12),
        setup=ClusterSetup(pages=300, workers=4),
    ),
    Fault(
        name="kill-workers-short",
        row="kill -9 a worker every 0.5 s (short)",
        expected="0 lost, 0 doubled",
        inject=partial(kill_workers, kills=4),
        setup=ClusterSetup(pages=120),
        is_short=True,
    ),
    Fault(
        name="fail-points",
        row="a worker dies between every two steps of settle, offer, ack",
        expected="0 lost, 0 doubled",
        inject=partial(die_at, places=SETTLING),
        setup=ClusterSetup(pages=700, workers=4, delay_s=0.2, timeout_s=120.0),
    ),
    Fault(
        name="fail-point-retry",
        row="a worker dies while a retry is settled",
        expected="0 lost, 0 doubled",
        inject=retry_dies,
        setup=ClusterSetup(pages=120),
    ),
    Fault(
        name="worker-frozen",
        row="worker stopped with SIGSTOP for two lease durations, then resumed",
        expected="its acknowledgement is rejected, 0 duplicated, delays respected",
        inject=freeze_worker,
        setup=ClusterSetup(
            pages=600, delay_s=0.2, environment={"SMARTSPIDER_TEST_LEASE_S": f"{LEASE_S:g}"}, timeout_s=120.0
        ),
    ),
    Fault(
        name="worker-frozen-settling",
        row="worker stopped with SIGSTOP inside the transaction of a settle, then resumed",
        expected="other runs settle within 3 s, its own within a lease, 0 lost, 0 duplicated",
        inject=freeze_settling,
        starts_run=False,
        setup=ClusterSetup(pages=70, workers=2, environment={"SMARTSPIDER_TEST_LEASE_S": f"{LEASE_S:g}"}),
        is_short=True,
    ),
)
