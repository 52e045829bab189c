"""The faults of the simulation: each does one thing that happens to real crawls. False: not just now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from smartspider.core import failpoints
from smartspider.core.runs import RunState, may_become
from smartspider_testing.life import Life

INSIDE = tuple(name for name in failpoints.NAMES if name.startswith("settle."))
STATES: tuple[RunState, ...] = ("paused", "stopping", "stopped", "running")


async def crash(life: Life) -> bool:
    """A worker dies with everything in its hands."""
    worker = life.anyone()
    if worker is None or life.endangers([worker]):
        return False
    await life.bury(worker)
    return True


async def kill_in_settle(life: Life) -> bool:
    """The next settle of a worker ends somewhere inside, or without an answer."""
    worker = life.anyone()
    if worker is None or life.endangers([worker]):
        return False
    worker.fails_at = life.draw.choice([*INSIDE, "settle.committed", "settle.committed"])
    return True


async def fall_silent(life: Life) -> bool:
    """A worker hangs past its leases and then goes on as if nothing had happened."""
    worker = life.anyone()
    if worker is None or life.endangers(life.crew):
        return False
    worker.due_at = life.clock.monotonic() + life.draw.uniform(30.0, 150.0)
    life.clock.move(life.draw.uniform(0.0, 100.0))
    await life.draw.choice(life.processes).frontier.reclaim()
    return True


async def jump(life: Life) -> bool:
    """The machine's time is set forward or back."""
    if life.endangers(life.crew):
        return False
    life.is_clock_steady = False
    life.clock.wind(life.draw.choice([-7200.0, -1.0, 0.3, 30.0, 3600.0]))
    return True


async def reopen(life: Life) -> bool:
    """A process dies with its workers and another one opens the folder."""
    process = life.draw.choice(life.processes)
    crew = [worker for worker in life.crew if worker.ground is process]
    if life.endangers(crew):
        return False
    for worker in crew:
        life.waste(worker)
    await process.reopen()
    return True


async def change_state(life: Life) -> bool:
    """A run is paused, stopped or resumed."""
    run_id = life.draw.choice(list(life.sites))
    store = life.draw.choice(life.processes).store
    state = life.draw.choice(STATES)
    if not may_become((await store.get_run(run_id)).state, state):
        return False
    if (await store.get_run(run_id)).state in ("completed", "failed"):
        return False
    await store.set_state(run_id, state)
    return True


async def offer(life: Life) -> bool:
    """Anything is offered again."""
    run_id, site = life.draw.choice(list(life.sites.items()))
    process = life.draw.choice(life.processes)
    page = str(life.draw.randrange(site.graph.pages))
    found = await process.store.find_urls(site.request(page).fingerprint, run_id)
    if await process.frontier.offer(run_id, [row.id for row in found] * 2):
        life.tally.problems.append(f"page {page} of run {run_id} was not in the frontier")
    return True


async def hold(life: Life) -> bool:
    """A host is held, or let go."""
    host = f"h{life.draw.randrange(life.hosts)}.example"
    frontier = life.draw.choice(life.processes).frontier
    if life.draw.random() < 0.5:
        await frontier.resume_host(host)
    else:
        await frontier.hold_host(host, life.draw.uniform(0.0, 20.0), "simulated")
    return True


async def leave(life: Life) -> bool:
    """A worker goes in good order, or gives back what it has not begun."""
    worker = life.anyone()
    if worker is None:
        return False
    unbegun = [lease for lease, _ in worker.hand]
    worker.hand.clear()
    await worker.ground.frontier.release(unbegun)
    if life.draw.random() < 0.5:
        life.waste(worker)
        await worker.ground.frontier.leave(worker.worker_id)
    return True


FAULTS: tuple[Callable[[Life], Awaitable[bool]], ...] = (
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
"""What may happen between two steps, all alike, dying in a settle twice as often."""
