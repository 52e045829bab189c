"""Nodes and their workers: list, drain, tune; and the scaling decision."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from smartspider.core.access import Principal, require
from smartspider.core.clock_doubt import ClockStatus
from smartspider.core.datetimes import format_time
from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.workers.scaling import ScalingDecision
from smartspider.core.workers.worker import WorkerRecord
from smartspider.installation.installation import Installation
from smartspider.services.inputs import is_id
from smartspider.views.nodes import (
    ClockView,
    Drained,
    NodeTuned,
    NodeView,
    ScalingRunView,
    ScalingView,
    WorkerState,
    WorkerView,
)

MAX_SLOTS = 10_000
LIST_HINT = "list machines and workers with `smartspider node list`"
NO_DECISION = "no keeper has decided yet; start one with `smartspider keeper`"


async def list_nodes(installation: Installation) -> list[NodeView]:
    """List all machines by name, including this one if it has no worker."""
    found, now = await installation.workers.find(), installation.leadership.now()
    own = platform.node()
    names = sorted({own, *(_node(one) for one in found)})
    by_name = {name: [one for one in found if _node(one) == name] for name in names}
    return [_view(name, workers, now, is_own=name == own) for name, workers in by_name.items()]


async def get_clock(installation: Installation) -> ClockView:
    """Return the time of the store and the clock that it follows."""
    return _clock_view(await installation.store_clock.status())


async def confirm_clock(installation: Installation, principal: Principal) -> ClockView:
    """Let store time follow the clock now."""
    require(principal, "nodes", "write")
    return _clock_view(await installation.store_clock.confirm(principal.name))


def _clock_view(status: ClockStatus) -> ClockView:
    store_time, wall_time, doubt = format_time(status.store_now), format_time(status.wall_now), status.doubt
    if doubt is None or not doubt.is_notable:
        return ClockView(store_time, wall_time, is_confirmed=True)
    return ClockView(
        *(store_time, wall_time),
        is_confirmed=False,
        ahead_s=round(doubt.ahead_s, 3),
        since=format_time(doubt.since),
        believed_at=format_time(doubt.believed_at),
    )


async def drain(
    installation: Installation, principal: Principal, node: str, worker_id: int | None = None
) -> Drained:
    """Drain the workers of a machine, or one of them."""
    require(principal, "nodes", "write")
    found, worker_id = await _find_target(installation, node, worker_id)
    drained = await installation.workers.drain(found.node, worker_id=worker_id, actor=principal.name)
    return Drained(_node(found), drained)


async def tune(
    installation: Installation, principal: Principal, node: str, slots: int, *, worker_id: int | None = None
) -> NodeTuned:
    """Set the slots of the workers of a machine, or of one of them; it takes effect at once."""
    require(principal, "nodes", "write")
    if not 0 <= slots <= MAX_SLOTS:
        raise RequestInvalid(
            f"a worker has from 0 to {MAX_SLOTS} slots", hint="0 stops it from leasing requests"
        )
    found, worker_id = await _find_target(installation, node, worker_id)
    tuned = await installation.workers.tune(found.node, slots, worker_id=worker_id, actor=principal.name)
    return NodeTuned(_node(found), slots, tuned)


async def _find_target(
    installation: Installation, node: str, worker_id: int | None
) -> tuple[WorkerRecord, int | None]:
    """Return a worker of the named machine and the id of the only one to act on, if any. `node` may be a
    worker id.
    """
    known = await installation.workers.find()
    here = [one for one in known if _node(one) == node]
    if not here and worker_id is None and is_id(node):
        here, worker_id = [one for one in known if one.id == int(node)], int(node)
    if not here or (worker_id is not None and worker_id not in {one.id for one in here}):
        raise NotFound(_not_found(node[:100], worker_id), hint=LIST_HINT)
    return here[0], worker_id


def _not_found(node: str, worker_id: int | None) -> str:
    if worker_id is None:
        return f"there is no worker on a machine named {node!r}"
    if node == str(worker_id):
        return f"there is no worker {worker_id} and no machine of that name with workers"
    return f"there is no worker {worker_id} on a machine named {node!r}"


def _node(worker: WorkerRecord) -> str:
    """Workers of a command record no machine: they run on this one."""
    return worker.node or platform.node()


def _view(name: str, workers: Sequence[WorkerRecord], now: float, *, is_own: bool) -> NodeView:
    slots, used = sum(one.slots for one in workers), sum(one.used for one in workers)
    return NodeView(
        node=name,
        versions=sorted({one.version for one in workers if one.version}),
        slots=slots,
        used=used,
        free=max(0, slots - used),
        memory_bytes=sum(one.memory for one in workers),
        load=[round(each, 2) for each in os.getloadavg()] if is_own else _load(workers),
        cpus=os.cpu_count() if is_own else max((one.cpus for one in workers), default=0) or None,
        workers=[_worker(one, now) for one in workers],
    )


def _load(workers: Sequence[WorkerRecord]) -> list[float] | None:
    """Return the load of another machine, from the last heartbeat of its workers."""
    reporting = [one for one in workers if one.is_alive and one.cpus]
    return [round(max(reporting, key=lambda one: one.seen_at).health.load, 2)] if reporting else None


def _state(one: WorkerRecord, now: float) -> WorkerState:
    if not one.is_alive:
        return "dead"
    if one.is_silent(now):
        return "silent"
    return "draining" if one.is_draining else "alive"


def _worker(one: WorkerRecord, now: float) -> WorkerView:
    return WorkerView(
        id=str(one.id),
        name=one.name,
        node=_node(one),
        pid=one.pid,
        version=one.version,
        state=_state(one, now),
        slots=one.slots,
        used=one.used,
        free=one.slots - one.used,
        hosts=one.hosts,
        run_ids=[str(run) for run in one.runs],
        cpu_s=round(one.cpu_s, 2),
        memory_bytes=one.memory,
        lag_s=round(one.health.lag_s, 3),
        fault_share=round(one.health.fault_share, 3),
        request_s=round(one.health.request_s, 3),
        pages=one.health.pages,
        is_elastic=one.is_elastic,
        joined_at=format_time(one.joined_at),
        seen_at=format_time(one.seen_at),
    )


async def get_scaling(installation: Installation) -> ScalingView:
    """Return the last scaling decision of the keeper, with the current workers."""
    decision = await installation.scaling.decision()
    present = [one for one in await installation.workers.find() if one.is_alive and not one.is_draining]
    shown = decision or ScalingDecision(len(present), NO_DECISION)
    return ScalingView(
        desired=shown.desired,
        workers=len(present),
        elastic=sum(one.is_elastic for one in present),
        reason=shown.reason,
        at=None if decision is None else format_time(shown.at),
        slots=shown.throughput.slots,
        request_s=round(shown.throughput.request_s, 3),
        pages_per_s=round(shown.throughput.rate, 1),
        runs=[
            ScalingRunView(str(run.run_id), run.open, run.hosts, run.in_flight, run.wanted, run.reason)
            for run in shown.runs
        ],
    )
