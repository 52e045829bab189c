"""What can be done to a run: pause, resume, stop, cancel, retry.

A call that is in effect already changes nothing and is no error; one that makes no sense in the state of the
run is refused with the reason.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed
from smartspider.core.runs import LIMIT, UNFINISHED, Run
from smartspider.services.desk import Desk
from smartspider.services.starting import Order, start_run

Which = Literal["failed", "all"]


class Again(msgspec.Struct, frozen=True):
    """A run that tries again, and how many requests it fetches once more."""

    run: Run
    requests: int


async def pause(desk: Desk, principal: Principal, run_id: int) -> Run:
    """Hand out nothing more for now; what is in flight is still stored."""
    run = await desk.run_to_change(principal, run_id)
    if run.state == "paused":
        return run
    if run.state not in ("queued", "running"):
        raise _impossible(run, "paused", _after_the_end(run))
    return await desk.store.set_state(run.id, "paused", f"paused by {principal.name}", actor=principal.name)


async def resume(desk: Desk, principal: Principal, run_id: int) -> Run:
    """Go on with a run that was paused or stopped: the workers take it up again."""
    run = await desk.run_to_change(principal, run_id)
    if run.state == "stopping":
        run = await desk.store.finish(run.id)
    if run.state in ("queued", "running"):
        return run
    if run.state == "stopping":
        raise _impossible(
            run, "resumed", f"{run.in_flight} requests are still in flight; try again in a moment"
        )
    if run.state not in ("paused", "stopped"):
        raise _impossible(run, "resumed", _after_the_end(run))
    return await desk.store.set_state(run.id, "queued", actor=principal.name)


async def stop(desk: Desk, principal: Principal, run_id: int) -> Run:
    """End a run after what is in flight; it can be resumed."""
    run = await desk.run_to_change(principal, run_id)
    if run.state in ("stopping", "stopped"):
        return run
    if run.state not in UNFINISHED:
        raise _impossible(run, "stopped", _after_the_end(run))
    reason = f"stopped by {principal.name}"
    if run.state != "running":
        return await desk.store.set_state(run.id, "stopped", reason, actor=principal.name)
    await desk.store.set_state(run.id, "stopping", reason, actor=principal.name)
    return await desk.store.finish(run.id)


async def cancel(desk: Desk, principal: Principal, run_id: int) -> Run:
    """End a run for good; what is open closes as skipped."""
    run = await desk.run_to_change(principal, run_id)
    if run.state == "cancelled":
        return run
    if run.state not in UNFINISHED:
        raise _impossible(run, "cancelled", "it is over already")
    return await desk.store.set_state(
        run.id, "cancelled", f"cancelled by {principal.name}", actor=principal.name
    )


async def retry(desk: Desk, principal: Principal, run_id: int, which: Which = "failed") -> Again:
    """Fetch what failed once more in the same run, or everything in a new run of the same version."""
    run = await desk.run_to_change(principal, run_id)
    if which == "failed":
        count = await desk.store.retry(run.id, actor=principal.name)
        return Again(await desk.store.get_run(run.id), count)
    task = await desk.tasks.get(run.task_id)
    new = await start_run(
        desk, principal, task, Order(version=run.task_version, started_by=f"retry:{run.id}")
    )
    return Again(new, new.counters.total)


def _impossible(run: Run, what: str, hint: str) -> NotAllowed:
    because = f" ({run.reason})" if run.reason else ""
    return NotAllowed(f"run {run.id} is {run.state}{because} and cannot be {what}", hint=hint)


def _after_the_end(run: Run) -> str:
    """What somebody who wants to go on with a run may want instead."""
    match run.state:
        case "completed" | "failed":
            return "retry fetches what failed once more; start makes a new run"
        case "cancelled":
            return "cancelled is for good; start a new run"
        case "stopping" if run.reason.startswith(LIMIT):
            return "it ends because of a limit; raise the limit in the task and start a new run"
        case _:
            return "it is being stopped; resume goes on with it"
