"""A PostgreSQL that restarts, is slow or has no room left."""

from __future__ import annotations

import contextlib
import time
from functools import partial

from smartspider_testing.chaos.calling import Ear, call, until_serving
from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.scene import Scene
from smartspider_testing.chaos.setup import Setup
from smartspider_testing.chaos.staff import until
from smartspider_testing.servers.ports import free_port

SLOW_S = 0.1
MB = 1_000_000
STILL_S = 4.0
FULL = "takes no writes: disk full"
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


def fail_over(scene: Scene) -> None:
    """The store dies for good under load; the server that followed it takes its place."""
    scene.until_share(0.3)
    scene.breaks()
    scene.fail_over_store()
    scene.until_more(5)


def forget(scene: Scene) -> None:
    """The store dies with commits that nobody else has: everything stops, and goes on from what is left."""
    standby = scene.yard.standby
    scene.until_share(0.3)
    standby.fall_behind()
    scene.until_share(0.5)
    told = scene.run().done
    scene.breaks()
    staff = [*scene.workers, *scene.keepers]
    for member in staff:
        member.kill()
    standby.kill()
    scene.yard.postgres.kill()
    standby.start()
    scene.fail_over_store()
    scene.yard.redis.command("FLUSHALL")
    forgotten = told - scene.run().done
    scene.check(forgotten > 0, "the standby was not behind")
    scene.notes.append(f"{forgotten} pages forgotten")
    scene.keepers[:] = [scene.hire("keeper") for _ in scene.keepers]
    scene.workers[:] = [scene.hire_worker() for _ in scene.workers]
    scene.until_more(5)


def lose(scene: Scene) -> None:
    """The same while everything runs: whoever notices that commits are gone fills Redis anew by itself."""
    standby = scene.yard.standby
    scene.until_share(0.3)
    standby.fall_behind()
    scene.until_share(0.5)
    told = scene.run().done
    scene.breaks()
    standby.kill()
    scene.yard.postgres.kill()
    standby.start()
    scene.fail_over_store()
    forgotten = told - scene.run().done
    scene.check(forgotten > 0, "the standby was not behind")
    scene.notes.append(f"{forgotten} pages forgotten")
    said = "the keeper finds another history"
    until(lambda: any(keeper.said("another history") for keeper in scene.keepers), said, 30.0)
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
    port = free_port()
    scene.hire("api", "--port", str(port))
    until_serving(port)
    with Ear() as ear:
        events = ("--on", "store.full", "--on", "store.returned")
        scene.must("notice", "add", "webhook", ear.url, *events)
        scene.begin()
        _fill_disk(scene, port, ear)


def _fill_disk(scene: Scene, port: int, ear: Ear) -> None:
    disk = scene.yard.disk
    assert disk is not None
    scene.until_share(0.1)
    scene.breaks()
    ballast = disk.folder / "ballast"
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(MB))
            file.flush()
    told = "a worker says that there is no room"
    until(lambda: any(worker.said("No space left") for worker in scene.workers), told, 30.0)
    until(lambda: ear.has_heard("store.full"), "somebody is told by webhook", 30.0)
    until(lambda: _silence_s(scene) > STILL_S, "nothing more is fetched", 30.0)
    scene.check(not scene.is_over(), f"the run is {scene.run().state} with a full disk")
    _check_told(scene, port)
    ballast.unlink()
    scene.until_more(3)
    until(lambda: ear.has_heard("store.returned"), "somebody is told that it is over", 30.0)
    until(lambda: (call(port, "/readyz") or (0, None))[0] == 200, "the cluster is ready again", 30.0)
    scene.notes.append(f"{len(ear.heard)} notices")


def _check_told(scene: Scene, port: int) -> None:
    """Whoever asks is told why nothing moves."""
    run = str(scene.run_id)
    asked = {
        "stall": scene.command("run", "stall", run).out,
        "run show": scene.command("run", "show", run).out,
        "doctor": scene.command("doctor").out,
        "/readyz": str(call(port, "/readyz")),
        "status": str(call(port, "/api/tasks/1/status")),
    }
    for name, said in asked.items():
        scene.check(FULL in said.lower(), f"{name} does not say that the disk is full: {said.strip()[-300:]}")
    stall = call(port, f"/api/runs/{run}/explain-stall")
    codes = [cause["code"] for cause in stall[1]["causes"]] if stall else []
    scene.check(codes[:1] == ["store_full"], f"what stops the run is called {codes}")
    ready = call(port, "/readyz")
    scene.check(ready is not None and ready[0] == 503, f"/readyz answers {ready}")


def _silence_s(scene: Scene) -> float:
    return time.monotonic() - max(visit.at for visit in scene.site.visits())


FAULTS = (
    Fault(
        name="postgres-restart",
        row="PostgreSQL restart",
        expected="0 lost, 0 doubled",
        act=partial(restart, is_killed=False),
        setup=Setup(pages=150),
    ),
    Fault(
        name="postgres-killed",
        row="PostgreSQL kill -9 and recovery",
        expected="0 lost, 0 doubled",
        act=partial(restart, is_killed=True),
    ),
    Fault(
        name="postgres-failover",
        row="PostgreSQL kill -9, its synchronous standby is promoted",
        expected="0 lost, 0 doubled",
        act=fail_over,
        setup=Setup(standby="synchronous"),
    ),
    Fault(
        name="postgres-behind",
        row="PostgreSQL kill -9, a standby that is behind is promoted after a stop, Redis is emptied",
        expected="what was forgotten is fetched again, 0 lost, 0 doubled, gap held",
        act=forget,
        setup=Setup(standby="asynchronous", patience_s=120.0),
    ),
    Fault(
        name="postgres-lossy",
        row="PostgreSQL kill -9, a standby that is behind is promoted under load",
        expected="Redis is filled anew by itself, what was forgotten is fetched again, 0 lost, 0 doubled",
        act=lose,
        setup=Setup(standby="asynchronous", patience_s=120.0),
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
        expected="all runs pause by themselves and somebody is told, 0 lost, 0 doubled after",
        act=fill_disk,
        begins=False,
        setup=Setup(small_disk_bytes=120 * MB, pages=300, patience_s=120.0),
    ),
)
