"""Control runs: pause, resume, stop, cancel, retry.

A call that is already in effect changes nothing. A call that the state of the run does not allow raises
`NotAllowed`.
"""

from __future__ import annotations

from typing import Literal

from smartspider.core.access import Principal
from smartspider.core.errors import NotAllowed, NotFound, Problem, RequestInvalid
from smartspider.core.plurals import count
from smartspider.core.runs.run import FINISHED, LIMIT, UNFINISHED, Run, run_of
from smartspider.installation.installation import Installation
from smartspider.services.inputs import check_text, parse_id
from smartspider.services.quotas import check_quota
from smartspider.services.runs.lookup import owned_run
from smartspider.services.runs.start import StartOptions, start_run
from smartspider.services.runs.views import retried_view, started_view
from smartspider.store.runs.reopen_failed import FailureFilter
from smartspider.views.arguments import FailureArguments
from smartspider.views.runs import Retried, Started

RetryScope = Literal["failed", "all"]
NOTHING_CHOSEN: FailureArguments = {}
_WHICH_HINT = "leave out `which`, or all of cause, host and page_ids"


async def pause(installation: Installation, principal: Principal, run_id: int) -> Started:
    """Pause a run; requests in flight are still stored."""
    return started_view(await _pause(installation, principal, run_id))


async def _pause(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state == "paused":
        return run
    if run.state not in ("queued", "running"):
        raise _not_allowed(run, "paused", _hint(run))
    return await installation.store.set_state(
        run.id, "paused", f"paused by {principal.name}", actor=principal.name
    )


async def resume(installation: Installation, principal: Principal, run_id: int) -> Started:
    """Resume a paused or stopped run."""
    return started_view(await _resume(installation, principal, run_id))


async def _resume(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state == "stopping":
        run = await installation.store.finish(run.id)
    if run.state in ("queued", "running"):
        return run
    if run.state == "stopping":
        raise _not_allowed(
            run, "resumed", f"{count(run.in_flight, 'request')} still in flight; try again in a moment"
        )
    if run.state not in ("paused", "stopped"):
        raise _not_allowed(run, "resumed", _hint(run))
    if run.state == "stopped":  # a paused run counts already
        await check_quota(installation, principal, "runs", await _owner(installation, run))
    return await installation.store.set_state(run.id, "queued", actor=principal.name)


async def stop(installation: Installation, principal: Principal, run_id: int) -> Started:
    """Stop a run after the requests in flight; it can be resumed."""
    return started_view(await _stop(installation, principal, run_id))


async def _stop(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state in ("stopping", "stopped"):
        return run
    if run.state not in UNFINISHED:
        raise _not_allowed(run, "stopped", _hint(run))
    reason = f"stopped by {principal.name}"
    if run.state != "running":
        return await installation.store.set_state(run.id, "stopped", reason, actor=principal.name)
    await installation.store.set_state(run.id, "stopping", reason, actor=principal.name)
    return await installation.store.finish(run.id)


async def cancel(installation: Installation, principal: Principal, run_id: int) -> Started:
    """Cancel a run for good; open requests are skipped."""
    return started_view(await _cancel(installation, principal, run_id))


async def _cancel(installation: Installation, principal: Principal, run_id: int) -> Run:
    run = await owned_run(installation, principal, run_id)
    if run.state == "cancelled":
        return run
    if run.state not in UNFINISHED:
        raise _not_allowed(run, "cancelled", "the run has already ended")
    return await installation.store.set_state(
        run.id, "cancelled", f"cancelled by {principal.name}", actor=principal.name
    )


async def retry(
    installation: Installation,
    principal: Principal,
    run_id: int,
    which: RetryScope = "failed",
    only: FailureArguments = NOTHING_CHOSEN,
) -> Retried:
    """Retry failed requests in the same run, those that match `only`, or everything in a new run of the same
    version.
    """
    run = await owned_run(installation, principal, run_id)
    chosen = _parse_failures(run.id, only)
    if which == "all" and chosen != FailureFilter():
        name = next(iter(chosen.detail))
        message = f"{name} chooses among failed requests"
        raise RequestInvalid(message, (Problem(name, message, _WHICH_HINT),), hint=_WHICH_HINT)
    if which == "failed":
        if run.state in FINISHED:  # it becomes active again
            await check_quota(installation, principal, "runs", await _owner(installation, run))
        count = await installation.store.retry(run.id, chosen, actor=principal.name)
        return retried_view(await installation.store.get_run(run.id), count)
    task = await installation.tasks.get(run.task_id)
    new = await start_run(
        installation, principal, task, StartOptions(version=run.task_version, started_by=f"retry:{run.id}")
    )
    return retried_view(new, new.counters.total)


def _parse_failures(run_id: int, only: FailureArguments) -> FailureFilter:
    """Return the filter of the arguments; raise `NotFound` for a request of another run."""
    ids = tuple(dict.fromkeys(parse_id(page_id, "page") for page_id in only.get("page_ids") or ()))
    for page_id in ids:
        if run_of(page_id) != run_id:
            raise NotFound(f"run {run_id} has no request {page_id}", hint="list its requests to find the id")
    host = only.get("host")
    if host is not None:
        check_text("host", host)
    return FailureFilter(only.get("cause"), host and host.lower(), ids)


async def _owner(installation: Installation, run: Run) -> str:
    return (await installation.tasks.get(run.task_id)).owner


def _not_allowed(run: Run, what: str, hint: str) -> NotAllowed:
    reason = f" ({run.reason})" if run.reason else ""
    return NotAllowed(f"run {run.id} is {run.state}{reason} and cannot be {what}", hint=hint)


def _hint(run: Run) -> str:
    """Return what to do instead."""
    match run.state:
        case "completed" | "failed":
            return "retry its failed requests, or start a new run"
        case "cancelled":
            return "a cancelled run cannot continue; start a new run"
        case "stopping" if run.reason.startswith(LIMIT):
            return "it reached a limit; raise the limit in the task and start a new run"
        case _:
            return "the run is stopping; resume it once it has stopped"
