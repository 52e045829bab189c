"""What can be done to a run: pause, resume, stop, cancel, retry.

A call that is in effect already changes nothing and is no error; one that makes no sense in the state of the
run is refused with the reason.
"""

from __future__ import annotations

from typing import Literal

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed
from smartspider.core.runs.run import LIMIT, UNFINISHED, Run
from smartspider.installation.installation import Installation
from smartspider.services.runs.lookup import owned_run
from smartspider.services.runs.start import StartOptions, start_run
from smartspider.services.runs.views import retried, started
from smartspider.views.runs import Retried, Started

Which = Literal["failed", "all"]


async def pause(installation: Installation, principal: Principal, run_id: int) -> Started:
    """Hand out nothing more for now; what is in flight is still stored."""
    return started(await _pause(installation, principal, run_id))


async def _pause(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state == "paused":
        return run
    if run.state not in ("queued", "running"):
        raise _impossible(run, "paused", _after_the_end(run))
    return await installation.store.set_state(
        run.id, "paused", f"paused by {principal.name}", actor=principal.name
    )


async def resume(installation: Installation, principal: Principal, run_id: int) -> Started:
    """Go on with a run that was paused or stopped: the workers take it up again."""
    return started(await _resume(installation, principal, run_id))


async def _resume(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state == "stopping":
        run = await installation.store.finish(run.id)
    if run.state in ("queued", "running"):
        return run
    if run.state == "stopping":
        raise _impossible(
            run, "resumed", f"{run.in_flight} requests are still in flight; try again in a moment"
        )
    if run.state not in ("paused", "stopped"):
        raise _impossible(run, "resumed", _after_the_end(run))
    return await installation.store.set_state(run.id, "queued", actor=principal.name)


async def stop(installation: Installation, principal: Principal, run_id: int) -> Started:
    """End a run after what is in flight; it can be resumed."""
    return started(await _stop(installation, principal, run_id))


async def _stop(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state in ("stopping", "stopped"):
        return run
    if run.state not in UNFINISHED:
        raise _impossible(run, "stopped", _after_the_end(run))
    reason = f"stopped by {principal.name}"
    if run.state != "running":
        return await installation.store.set_state(run.id, "stopped", reason, actor=principal.name)
    await installation.store.set_state(run.id, "stopping", reason, actor=principal.name)
    return await installation.store.finish(run.id)


async def cancel(installation: Installation, principal: Principal, run_id: int) -> Started:
    """End a run for good; what is open closes as skipped."""
    return started(await _cancel(installation, principal, run_id))


async def _cancel(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state == "cancelled":
        return run
    if run.state not in UNFINISHED:
        raise _impossible(run, "cancelled", "it is over already")
    return await installation.store.set_state(
        run.id, "cancelled", f"cancelled by {principal.name}", actor=principal.name
    )


async def retry(
    installation: Installation, principal: Principal, run_id: int, which: Which = "failed"
) -> Retried:
    """Fetch what failed once more in the same run, or everything in a new run of the same version."""
    run = await owned_run(installation, principal, run_id)
    if which == "failed":
        count = await installation.store.retry(run.id, actor=principal.name)
        return retried(await installation.store.get_run(run.id), count)
    task = await installation.tasks.get(run.task_id)
    new = await start_run(
        installation, principal, task, StartOptions(version=run.task_version, started_by=f"retry:{run.id}")
    )
    return retried(new, new.counters.total)


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
