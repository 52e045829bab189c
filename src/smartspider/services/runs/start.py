"""Starting a run of a task that is kept."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import NotFound
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import Tuning
from smartspider.core.tasks import TaskRecord, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.runs.compiled import compile_plan
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


class StartOptions(msgspec.Struct, frozen=True):
    """How a run is to be started."""

    version: int | None = None
    """Of the task; None: the newest."""
    overlap: bool = False
    """Also while another run of the task is not over."""
    tuning: Tuning = Tuning()
    started_by: str = ""
    """What made it, where that is not the one who acts."""


async def start_run(
    installation: Installation, principal: Principal, task: TaskRecord, order: StartOptions = StartOptions()
) -> Run:
    """A new run of a task, queued for the workers.

    Raises `Conflict` while another one is not over, `NotBuilt`, `TaskInvalid` and `PrivateAddress` for what
    could not be run.
    """
    require(principal, "runs", "write", owner=task.owner)
    if task.is_deleted:
        raise NotFound(f"the task {task.name!r} is deleted", hint="create it anew")
    version = await installation.tasks.version(task.id, order.version or task.version)
    plan = runnable_plan(version, installation.policy)
    run = await installation.store.create_run(
        plan,
        actor=principal.name,
        version=version.number,
        is_only=not order.overlap,
        started_by=order.started_by,
    )
    if not order.tuning.is_empty:
        run = await installation.store.tune(run.id, order.tuning, actor=principal.name)
    return run


async def newest_plan(installation: Installation, task: TaskRecord) -> Plan:
    """Return the plan of the newest version of a task; raise what keeps it from running here."""
    version = await installation.tasks.version(task.id, task.version)
    return runnable_plan(version, installation.policy)


def runnable_plan(version: TaskVersion, policy: AddressPolicy) -> Plan:
    """The plan of a version, when it can be run here."""
    plan = compile_task(parse_task(msgspec.json.decode(version.spec)))
    compile_plan(plan)
    for entry in plan.entries:
        refusal = policy.refuse_url(entry.url)
        if refusal is not None:
            raise refusal
    # To the byte as it was kept, also when it was written by an earlier version of this program.
    return msgspec.structs.replace(plan, spec=version.spec, spec_hash=version.spec_hash)
