"""Start runs of stored tasks."""

from __future__ import annotations

import msgspec

from smartspider.core.access import Principal, require
from smartspider.core.errors import NotFound
from smartspider.core.requests.addresses import AddressPolicy
from smartspider.core.runs.plan import Plan
from smartspider.core.runs.run import Run
from smartspider.core.runs.tuning import Tuning, settings_of
from smartspider.core.tasks import TaskRecord, TaskVersion
from smartspider.installation.installation import Installation
from smartspider.services.identities.cookies import check_cookies
from smartspider.services.identities.proxies import check_pools
from smartspider.services.plans import compile_plan
from smartspider.services.quotas import check_quota
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task


class StartOptions(msgspec.Struct, frozen=True):
    """Options of a new run."""

    version: int | None = None
    """Version of the task; None: the newest."""
    overlap: bool = False
    """Allow it while another run of the task is unfinished."""
    tuning: Tuning = {}
    started_by: str = ""
    """The trigger, such as a schedule, if it is not the principal."""


async def start_run(
    installation: Installation, principal: Principal, task: TaskRecord, options: StartOptions = StartOptions()
) -> Run:
    """Create a run of a task, queued for the workers.

    Raises `Conflict` while another run is unfinished, and `NotBuilt`, `TaskInvalid` or `PrivateAddress` if
    the task cannot run here.
    """
    require(principal, "runs", "write", owner=task.owner)
    if task.is_deleted:
        raise NotFound(f"the task {task.name!r} is deleted", hint="create it again")
    version = await installation.tasks.version(task.id, options.version or task.version)
    plan = await installation.offload.run(runnable_plan, version, installation.policy, holder=principal.name)
    if plan.downloads:
        installation.require_files_path()
    await _check_vault(installation, plan, task)
    await check_quota(installation, principal, "runs", task.owner)
    run = await installation.store.create_run(
        plan,
        actor=principal.name,
        version=version.number,
        is_only=not options.overlap,
        started_by=options.started_by,
    )
    if settings_of(options.tuning):
        run = await installation.store.tune(run.id, options.tuning, actor=principal.name)
    return run


async def newest_plan(installation: Installation, task: TaskRecord) -> Plan:
    """Return the plan of the newest version of a task; raise if it cannot run here."""
    version = await installation.tasks.version(task.id, task.version)
    plan = await installation.offload.run(runnable_plan, version, installation.policy)
    await _check_vault(installation, plan, task)
    return plan


async def _check_vault(installation: Installation, plan: Plan, task: TaskRecord) -> None:
    await check_pools(installation, plan)
    await check_cookies(installation, plan, task.owner)


def runnable_plan(version: TaskVersion, policy: AddressPolicy) -> Plan:
    """Return the plan of a version; raise if it cannot run here."""
    plan = compile_task(parse_task(msgspec.json.decode(version.spec)))
    compile_plan(plan)
    for entry in plan.entries:
        refusal = policy.refuse_url(entry.url)
        if refusal is not None:
            raise refusal
    # Keep the stored bytes, even if an earlier version of this program wrote them.
    return msgspec.structs.replace(plan, spec=version.spec, spec_hash=version.spec_hash)
