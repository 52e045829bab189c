"""The machines and processes that work."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence

from smartspider.core.access import Principal, require
from smartspider.core.errors import NotFound, RequestInvalid
from smartspider.core.workers.scaling import ScalingDecision
from smartspider.core.workers.worker import WorkerRecord
from smartspider.installation.installation import Installation
from smartspider.services.inputs import is_number
from smartspider.views.nodes import Drained, NodeTuned, NodeView, WorkerView
from smartspider.views.scaling import ScalingRunView, ScalingView
from smartspider.views.times import format_time

MOST_SLOTS = 10_000
LISTED = "`smartspider node list` shows machines and workers"
NOBODY = "no keeper has decided yet; `smartspider keeper` starts one"


async def list_nodes(installation: Installation) -> list[NodeView]:
    """All machines by name, the one that answers among them also when nobody works there."""
    found = await installation.workers.find()
    own = platform.node()
    names = sorted({own, *(_node(one) for one in found)})
    return [_view(name, [one for one in found if _node(one) == name], is_own=name == own) for name in names]


async def drain(
    installation: Installation, principal: Principal, node: str, worker_id: int | None = None
) -> Drained:
    """Ask the workers of a machine to finish what they hold and leave, or one of them."""
    require(principal, "nodes", "write")
    found, worker_id = await _meant(installation, node, worker_id)
    asked = await installation.workers.drain(found.node, worker_id=worker_id, actor=principal.name)
    return Drained(_node(found), asked)


async def tune(
    installation: Installation, principal: Principal, node: str, slots: int, *, worker_id: int | None = None
) -> NodeTuned:
    """Have the workers of a machine, or one of them, hold so many requests at most; they hear it at once."""
    require(principal, "nodes", "write")
    if not 0 <= slots <= MOST_SLOTS:
        raise RequestInvalid(f"a worker has from 0 to {MOST_SLOTS} slots", hint="0 lets it take nothing more")
    found, worker_id = await _meant(installation, node, worker_id)
    turned = await installation.workers.tune(found.node, slots, worker_id=worker_id, actor=principal.name)
    return NodeTuned(_node(found), slots, turned)


async def _meant(
    installation: Installation, node: str, worker_id: int | None
) -> tuple[WorkerRecord, int | None]:
    """A worker of the machine that is named, and which alone is meant; a worker's id names it, too."""
    known = await installation.workers.find()
    here = [one for one in known if _node(one) == node]
    if not here and worker_id is None and is_number(node):
        here, worker_id = [one for one in known if one.id == int(node)], int(node)
    if not here or (worker_id is not None and worker_id not in {one.id for one in here}):
        raise NotFound(_nobody(node[:100], worker_id), hint=LISTED)
    return here[0], worker_id


def _nobody(node: str, worker_id: int | None) -> str:
    if worker_id is None:
        return f"no worker is at work on a machine called {node!r}"
    if node == str(worker_id):
        return f"there is no worker {worker_id}, nor a machine of that name with workers"
    return f"there is no worker {worker_id} on a machine called {node!r}"


def _node(worker: WorkerRecord) -> str:
    """Workers of one command do not say where they are: here."""
    return worker.node or platform.node()


def _view(name: str, workers: Sequence[WorkerRecord], *, is_own: bool) -> NodeView:
    slots, used = sum(one.slots for one in workers), sum(_used(one) for one in workers)
    return NodeView(
        node=name,
        versions=sorted({one.version for one in workers if one.version}),
        slots=slots,
        used=used,
        free=max(0, slots - used),
        memory_bytes=sum(one.memory for one in workers),
        load=[round(each, 2) for each in os.getloadavg()] if is_own else _load(workers),
        cpus=os.cpu_count() if is_own else max((one.cpus for one in workers), default=0) or None,
        workers=[_worker(one) for one in workers],
    )


def _used(worker: WorkerRecord) -> int:
    """What a worker holds beyond its slots is finished, and about to be stored."""
    return min(worker.held, worker.slots)


def _load(workers: Sequence[WorkerRecord]) -> list[float] | None:
    """Of another machine: what that worker told who was heard of last."""
    told = [one for one in workers if one.is_alive and one.cpus]
    return [round(max(told, key=lambda one: one.seen_at).health.load, 2)] if told else None


def _worker(one: WorkerRecord) -> WorkerView:
    return WorkerView(
        id=str(one.id),
        name=one.name,
        node=_node(one),
        pid=one.pid,
        version=one.version,
        state="dead" if not one.is_alive else "draining" if one.is_draining else "alive",
        slots=one.slots,
        used=_used(one),
        free=one.slots - _used(one),
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
    """The figure as the keeper decided it last, with the workers there are now."""
    figure = await installation.scaling.decision()
    present = [one for one in await installation.workers.find() if one.is_alive and not one.is_draining]
    told = figure or ScalingDecision(len(present), NOBODY)
    return ScalingView(
        desired=told.desired,
        workers=len(present),
        elastic=sum(one.is_elastic for one in present),
        reason=told.reason,
        at=None if figure is None else format_time(told.at),
        slots=told.throughput.slots,
        request_s=round(told.throughput.request_s, 3),
        pages_per_s=round(told.throughput.rate, 1),
        runs=[
            ScalingRunView(str(run.run_id), run.open, run.hosts, run.in_flight, run.wanted, run.reason)
            for run in told.runs
        ],
    )
