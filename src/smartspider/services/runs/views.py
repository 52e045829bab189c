"""Runs, made ready to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from smartspider.core.errors import TaskInvalid
from smartspider.core.pages.extraction import StepCount
from smartspider.core.redaction import without_userinfo
from smartspider.core.runs.run import Counters, Run
from smartspider.core.tasks import TaskRecord
from smartspider.services.dedup import DistinctUrls
from smartspider.services.runs import progress
from smartspider.store.diagnostics.progress import RunProgress
from smartspider.store.diagnostics.requests import GateStatus
from smartspider.store.diagnostics.store import RunActivity
from smartspider.store.runs.listing import FailedRequest, UrlRow
from smartspider.store.runs.records import HostReceipt
from smartspider.views.preview import StepView
from smartspider.views.problem import wrongs
from smartspider.views.runs import (
    Begun,
    FailureView,
    HostView,
    KnobsView,
    MetricsView,
    PageView,
    ReceiptHost,
    ReceiptView,
    Retried,
    RunView,
    Started,
    StatusView,
    WorkerShare,
    counted,
)
from smartspider.views.times import format_time


def run_view(run: Run, now: float) -> RunView:
    """A run in a list."""
    return RunView(**_head(run, now))


def status_view(standing: RunProgress, distinct: DistinctUrls = DistinctUrls()) -> StatusView:
    """How a run stands."""
    eta = progress.eta(standing)
    return StatusView(
        **_head(standing.run, standing.now),
        pages_per_s=progress.pages_per_s(standing),
        eta_s=eta.eta_s,
        eta_low_s=eta.low_s,
        eta_high_s=eta.high_s,
        running_workers=standing.workers,
        distinct_estimate=distinct.of_run,
        task_distinct_estimate=distinct.of_task,
        distinct_error=distinct.error,
    )


def status_without_run(task: TaskRecord) -> StatusView:
    """How a task stands that was never started."""
    return StatusView(
        **_counted(Counters(), in_flight=0),
        id=None,
        run_id=None,
        task_id=str(task.id),
        task=task.name,
        version=task.version,
        state="created",
        reason="",
        started_by="",
        created_at=format_time(task.created_at),
        started_at=None,
        finished_at=None,
        duration_s=0.0,
        pages_per_s=0.0,
        eta_s=None,
        eta_low_s=None,
        eta_high_s=None,
        running_workers=0,
        distinct_estimate=None,
        task_distinct_estimate=None,
        distinct_error=None,
    )


def metrics_view(
    situation: RunActivity, steps: Mapping[str, StepCount], distinct: DistinctUrls = DistinctUrls()
) -> MetricsView:
    """How a run stands, host by host, worker by worker and step by step."""
    return MetricsView(
        **msgspec.structs.asdict(status_view(situation.progress, distinct)),
        hosts=[host_view(gate, situation.progress.now) for gate in situation.gates],
        workers=[WorkerShare(share.worker, share.node, share.in_flight) for share in situation.shares],
        knobs=_knobs(situation.progress.run),
        steps={name: StepView(**msgspec.structs.asdict(count)) for name, count in steps.items()},
    )


def _knobs(run: Run) -> KnobsView | None:
    """The knobs of a run; None: its task cannot be read today."""
    from smartspider.services.runs.tuning import knobs_of  # which brings all that task files are checked with

    try:
        return knobs_of(run)
    except TaskInvalid:
        return None


def metrics_without_run(task: TaskRecord) -> MetricsView:
    """The same of a task that was never started."""
    return MetricsView(
        **msgspec.structs.asdict(status_without_run(task)), hosts=[], workers=[], knobs=None, steps={}
    )


def host_view(gate: GateStatus, now: float) -> HostView:
    """A gate a run stands at."""
    return HostView(
        host=gate.host,
        queued=gate.queued,
        in_flight=gate.held,
        delay_s=gate.delay_s,
        delay_set_by=gate.set_by,
        held_until=format_time(gate.held_until) if gate.held_until > now else None,
        hold_reason=gate.hold_reason if gate.held_until > now else "",
    )


def started(run: Run) -> Started:
    """A run that was told to do something."""
    return Started(str(run.id), str(run.task_id), run.state, run.reason)


def begun(run: Run) -> Begun:
    """A run that was started, with what may surprise."""
    from smartspider.taskfile.checks import find_cautions  # as above
    from smartspider.taskfile.load import parse_task

    warnings = wrongs(find_cautions(parse_task(msgspec.json.decode(run.spec))))
    return Begun(str(run.id), str(run.task_id), run.state, run.reason, warnings)


def retried(run: Run, requests: int) -> Retried:
    """A run that tries again, and how many requests it fetches once more."""
    return Retried(str(run.id), str(run.task_id), run.state, run.reason, requests)


def failure_view(failure: FailedRequest) -> FailureView:
    """A request that ended in failure."""
    url, reason = without_userinfo(failure.url), without_userinfo(failure.reason)
    return FailureView(str(failure.id), url, failure.state, reason)


def page_view(row: UrlRow) -> PageView:
    """A request of a run."""
    return PageView(
        id=str(row.id),
        url=without_userinfo(row.url),
        state=row.state,
        reason=without_userinfo(row.reason),
        status=row.status,
        page=row.page,
        depth=row.depth,
        attempts=row.attempts,
        items=row.items,
        found_at=format_time(row.found_at),
        closed_at=format_time(row.closed_at),
    )


def receipt_view(run_id: int, hosts: list[HostReceipt]) -> ReceiptView:
    """How a run treated its hosts."""
    return ReceiptView(
        run_id=str(run_id),
        requests=sum(host.requests for host in hosts),
        violations=sum(host.violations for host in hosts),
        hosts=[ReceiptHost(**msgspec.structs.asdict(host)) for host in hosts],
    )


def _head(run: Run, now: float) -> dict[str, Any]:
    going_s = 0.0 if run.resumed_at is None else max(now - run.resumed_at, 0.0)
    return {
        "id": str(run.id),
        "run_id": str(run.id),
        "task_id": str(run.task_id),
        "task": run.task_name,
        "version": run.task_version,
        "state": run.state,
        "reason": run.reason,
        "started_by": run.started_by,
        "created_at": format_time(run.created_at),
        "started_at": format_time(run.started_at),
        "finished_at": format_time(run.finished_at),
        "duration_s": round(run.active_s + going_s, 3),
        **_counted(run.counters, run.in_flight),
    }


def _counted(counters: Counters, in_flight: int) -> dict[str, Any]:
    return {
        **counted(counters, in_flight),
        "broken_count": counters.broken,
        "return_count": counters.returns,
        "late_count": counters.late,
        "error_rate": progress.error_rate(counters),
    }
