"""The faults of the simulation. Each returns False if it does not apply at the moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from smartspider.core import failpoints
from smartspider.core.runs.run import RunState, can_transition
from smartspider_testing.simulation.crawl import SimulatedCrawl

INSIDE = tuple(name for name in failpoints.NAMES if name.startswith("settle."))
STATES: tuple[RunState, ...] = ("paused", "stopping", "stopped", "running")


async def crash(crawl: SimulatedCrawl) -> bool:
    """Kill a worker with all its leases."""
    worker = crawl.random_worker()
    if worker is None or crawl.would_bury([worker]):
        return False
    await crawl.kill_worker(worker)
    return True


async def kill_in_settle(crawl: SimulatedCrawl) -> bool:
    """Interrupt the next settle of a worker at a fail point, or lose its answer."""
    worker = crawl.random_worker()
    if worker is None or crawl.would_bury([worker]):
        return False
    worker.crash_at = crawl.rng.choice([*INSIDE, "settle.committed", "settle.committed"])
    return True


async def fall_silent(crawl: SimulatedCrawl) -> bool:
    """Suspend a worker beyond its leases, then let it continue."""
    worker = crawl.random_worker()
    if worker is None or crawl.would_bury(crawl.workers):
        return False
    worker.due_at = crawl.clock.monotonic() + crawl.rng.uniform(30.0, 150.0)
    crawl.clock.move(crawl.rng.uniform(0.0, 100.0))
    await crawl.rng.choice(crawl.processes).frontier.reclaim()
    return True


async def jump(crawl: SimulatedCrawl) -> bool:
    """Set the wall clock forward or back."""
    if crawl.would_bury(crawl.workers):
        return False
    crawl.is_clock_steady = False
    crawl.clock.wind(crawl.rng.choice([-7200.0, -1.0, 0.3, 30.0, 3600.0]))
    return True


async def reopen(crawl: SimulatedCrawl) -> bool:
    """Kill a process with its workers and reopen the folder."""
    process = crawl.rng.choice(crawl.processes)
    workers = [worker for worker in crawl.workers if worker.backend is process]
    if crawl.would_bury(workers):
        return False
    for worker in workers:
        crawl.discard(worker)
    await process.reopen()
    return True


async def change_state(crawl: SimulatedCrawl) -> bool:
    """Pause, stop or resume a run."""
    run_id = crawl.rng.choice(list(crawl.sites))
    store = crawl.rng.choice(crawl.processes).store
    state = crawl.rng.choice(STATES)
    if not can_transition((await store.get_run(run_id)).state, state):
        return False
    if (await store.get_run(run_id)).state in ("completed", "failed"):
        return False
    await store.set_state(run_id, state)
    return True


async def offer(crawl: SimulatedCrawl) -> bool:
    """Offer a random page again."""
    run_id, site = crawl.rng.choice(list(crawl.sites.items()))
    process = crawl.rng.choice(crawl.processes)
    page = str(crawl.rng.randrange(site.graph.pages))
    found = await process.store.find_urls(site.request(page).fingerprint, run_id)
    if await process.frontier.offer(run_id, [row.id for row in found] * 2):
        crawl.stats.problems.append(f"page {page} of run {run_id} was not in the frontier")
    return True


async def hold(crawl: SimulatedCrawl) -> bool:
    """Hold or resume a host."""
    host = f"h{crawl.rng.randrange(crawl.hosts)}.example"
    frontier = crawl.rng.choice(crawl.processes).frontier
    if crawl.rng.random() < 0.5:
        await frontier.resume_host(host)
    else:
        await frontier.hold_host(host, crawl.rng.uniform(0.0, 20.0), "simulated")
    return True


async def leave(crawl: SimulatedCrawl) -> bool:
    """Let a worker release the leases it has not begun, and sometimes leave."""
    worker = crawl.random_worker()
    if worker is None:
        return False
    unbegun = [lease for lease, _ in worker.leased]
    worker.leased.clear()
    await worker.backend.frontier.release(unbegun)
    if crawl.rng.random() < 0.5:
        crawl.discard(worker)
        await worker.backend.frontier.leave(worker.worker_id)
    return True


FAULTS: tuple[Callable[[SimulatedCrawl], Awaitable[bool]], ...] = (
    crash,
    kill_in_settle,
    kill_in_settle,
    fall_silent,
    jump,
    reopen,
    change_state,
    offer,
    hold,
    leave,
)
"""Equally likely between two steps; a crash in a settle is listed twice."""
