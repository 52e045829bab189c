"""A PostgreSQL that restarts, fails over, is slow or has a full disk."""

from __future__ import annotations

import contextlib
import time
from functools import partial

from smartspider_testing.chaos.api import WebhookReceiver, call_api, wait_until_serving
from smartspider_testing.chaos.cluster import ChaosCluster
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.processes import wait_until
from smartspider_testing.chaos.setup import ClusterSetup
from smartspider_testing.servers.ports import free_port

SLOW_S = 0.1
MB = 1_000_000
STILL_S = 4.0
FULL = "accepts no writes: disk full"
FLAT = 1.6
"""Allowed growth of a worker's memory while the store is slow."""


def restart(cluster: ChaosCluster, *, is_killed: bool) -> None:
    """Stop or kill the store during the crawl and start it again."""
    postgres = cluster.servers.postgres
    for share in (0.2, 0.45):
        cluster.wait_for_share(share)
        cluster.mark_fault()
        if is_killed:
            postgres.kill()
            postgres.start()
        else:
            postgres.restart()
        cluster.wait_for_pages(5)


def fail_over(cluster: ChaosCluster) -> None:
    """Kill the store under load and promote its synchronous standby."""
    cluster.wait_for_share(0.3)
    cluster.mark_fault()
    cluster.fail_over_store()
    cluster.wait_for_pages(5)


def forget(cluster: ChaosCluster) -> None:
    """Lose commits: kill the store, stop everything, and continue from a standby that is behind."""
    standby = cluster.servers.standby
    cluster.wait_for_share(0.3)
    standby.fall_behind()
    cluster.wait_for_share(0.5)
    told = cluster.get_run().done
    cluster.mark_fault()
    processes = [*cluster.workers, *cluster.keepers]
    for process in processes:
        process.kill()
    standby.kill()
    cluster.servers.postgres.kill()
    standby.start()
    cluster.fail_over_store()
    cluster.servers.redis.command("FLUSHALL")
    forgotten = told - cluster.get_run().done
    cluster.check(forgotten > 0, "the standby was not behind")
    cluster.notes.append(f"{forgotten} pages forgotten")
    cluster.keepers[:] = [cluster.start_process("keeper") for _ in cluster.keepers]
    cluster.workers[:] = [cluster.start_worker() for _ in cluster.workers]
    cluster.wait_for_pages(5)


def lose(cluster: ChaosCluster) -> None:
    """Lose commits under load: the cluster detects it and refills Redis by itself."""
    standby = cluster.servers.standby
    cluster.wait_for_share(0.3)
    standby.fall_behind()
    cluster.wait_for_share(0.5)
    told = cluster.get_run().done
    cluster.mark_fault()
    standby.kill()
    cluster.servers.postgres.kill()
    standby.start()
    cluster.fail_over_store()
    forgotten = told - cluster.get_run().done
    cluster.check(forgotten > 0, "the standby was not behind")
    cluster.notes.append(f"{forgotten} pages forgotten")
    answer = "the keeper finds another history"
    wait_until(lambda: any(keeper.has_logged("another history") for keeper in cluster.keepers), answer, 30.0)
    cluster.wait_for_pages(5)


def slow(cluster: ChaosCluster) -> None:
    """Make every statement ten times slower; requests in flight and memory stay bounded."""
    cluster.wait_for_share(0.15)
    before = max(worker.memory_bytes() for worker in cluster.workers)
    cluster.mark_fault()
    cluster.servers.store_proxy.latency_s = SLOW_S
    cluster.wait_for_share(0.5, within_s=120.0)
    leased = cluster.store.query_number("SELECT coalesce(sum(leased), 0) FROM load")
    after = max(worker.memory_bytes() for worker in cluster.workers)
    cluster.servers.store_proxy.latency_s = 0.0
    most = cluster.setup.workers * cluster.setup.slots
    cluster.check(leased <= most, f"{leased} requests were in flight, {most} are allowed")
    cluster.check(after < FLAT * before, f"a worker grew from {before // MB} to {after // MB} MB")
    cluster.notes.append(f"worker {before // MB} -> {after // MB} MB")


def fill_disk(cluster: ChaosCluster) -> None:
    """Fill the disk of the store: fetching stops and the reason is reported; with free space it continues."""
    port = free_port()
    cluster.start_process("api", "--port", str(port))
    wait_until_serving(port)
    with WebhookReceiver() as receiver:
        events = ("--on", "store.full", "--on", "store.returned")
        cluster.checked_command("notice", "add", "webhook", receiver.url, *events)
        cluster.start_run()
        _fill_disk(cluster, port, receiver)


def _fill_disk(cluster: ChaosCluster, port: int, receiver: WebhookReceiver) -> None:
    disk = cluster.servers.disk
    assert disk is not None
    cluster.wait_for_share(0.1)
    cluster.mark_fault()
    ballast = disk.folder / "ballast"
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(MB))
            file.flush()
    told = "a worker reports that the disk is full"
    wait_until(lambda: any(worker.has_logged("No space left") for worker in cluster.workers), told, 30.0)
    wait_until(lambda: receiver.has_received("store.full"), "a webhook notification is sent", 30.0)
    wait_until(lambda: _silence_s(cluster) > STILL_S, "nothing more is fetched", 30.0)
    cluster.check(not cluster.has_ended(), f"the run is {cluster.get_run().state} with a full disk")
    _check_told(cluster, port)
    ballast.unlink()
    cluster.wait_for_pages(3)
    wait_until(lambda: receiver.has_received("store.returned"), "a notification reports the recovery", 30.0)
    wait_until(lambda: (call_api(port, "/readyz") or (0, None))[0] == 200, "the cluster is ready again", 30.0)
    cluster.notes.append(f"{len(receiver.received)} notices")


def _check_told(cluster: ChaosCluster, port: int) -> None:
    """Check that the status reports the full disk."""
    run = str(cluster.run_id)
    asked = {
        "stall": cluster.run_command("run", "stall", run).out,
        "run show": cluster.run_command("run", "show", run).out,
        "doctor": cluster.run_command("doctor").out,
        "/readyz": str(call_api(port, "/readyz")),
        "status": str(call_api(port, "/api/tasks/1/status")),
    }
    for name, answer in asked.items():
        cluster.check(
            FULL in answer.lower(), f"{name} does not say that the disk is full: {answer.strip()[-300:]}"
        )
    stall = call_api(port, f"/api/runs/{run}/explain-stall")
    codes = [cause["code"] for cause in stall[1]["causes"]] if stall else []
    cluster.check(codes[:1] == ["store_full"], f"the stall causes are {codes}")
    ready = call_api(port, "/readyz")
    cluster.check(ready is not None and ready[0] == 503, f"/readyz answers {ready}")


def _silence_s(cluster: ChaosCluster) -> float:
    return time.monotonic() - max(visit.at for visit in cluster.site.visits())


FAULTS = (
    Fault(
        name="postgres-restart",
        row="PostgreSQL restart",
        expected="0 lost, 0 doubled",
        inject=partial(restart, is_killed=False),
        setup=ClusterSetup(pages=150),
    ),
    Fault(
        name="postgres-killed",
        row="PostgreSQL kill -9 and recovery",
        expected="0 lost, 0 doubled",
        inject=partial(restart, is_killed=True),
    ),
    Fault(
        name="postgres-failover",
        row="PostgreSQL kill -9, its synchronous standby is promoted",
        expected="0 lost, 0 doubled",
        inject=fail_over,
        setup=ClusterSetup(standby="synchronous"),
    ),
    Fault(
        name="postgres-behind",
        row="PostgreSQL kill -9, a standby that is behind is promoted after a stop, Redis is emptied",
        expected="lost commits are fetched again, 0 lost, 0 duplicated, delays respected",
        inject=forget,
        setup=ClusterSetup(standby="asynchronous", timeout_s=120.0),
    ),
    Fault(
        name="postgres-lossy",
        row="PostgreSQL kill -9, a standby that is behind is promoted under load",
        expected="Redis is refilled automatically, lost commits are fetched again, 0 lost, 0 duplicated",
        inject=lose,
        setup=ClusterSetup(standby="asynchronous", timeout_s=120.0),
    ),
    Fault(
        name="store-slow",
        row="store 10x slower",
        expected="bounded in flight, flat memory, 0 lost, 0 doubled",
        inject=slow,
        setup=ClusterSetup(is_proxied=True, pages=300, delay_s=0.0, timeout_s=120.0),
    ),
    Fault(
        name="disk-full",
        row="store disk full",
        expected="all runs pause automatically, a notification is sent, 0 lost, 0 duplicated afterwards",
        inject=fill_disk,
        starts_run=False,
        setup=ClusterSetup(small_disk_bytes=120 * MB, pages=300, timeout_s=120.0),
    ),
)
