"""How many workers are wanted, and who follows that."""

from __future__ import annotations

from smartspider.core.scaling import Figure
from smartspider.interfaces.scaling import ScalingStore
from smartspider.interfaces.worker_registry import WorkerRegistry
from smartspider.views.scaling import ScalingRunView, ScalingView
from smartspider.views.times import told_at

NOBODY = "no keeper has decided yet; `smartspider keeper` starts one"


async def scaling(store: ScalingStore, workers: WorkerRegistry) -> ScalingView:
    """The figure as the keeper decided it last, with the workers there are now."""
    figure = await store.figure()
    present = [one for one in await workers.find() if one.is_alive and not one.is_draining]
    told = figure or Figure(len(present), NOBODY)
    return ScalingView(
        desired=told.desired,
        workers=len(present),
        elastic=sum(one.is_elastic for one in present),
        reason=told.reason,
        at=None if figure is None else told_at(told.at),
        slots=told.pace.slots,
        request_s=round(told.pace.request_s, 3),
        pages_per_s=round(told.pace.rate, 1),
        runs=[
            ScalingRunView(str(run.run_id), run.open, run.hosts, run.in_flight, run.wanted, run.reason)
            for run in told.runs
        ],
    )
