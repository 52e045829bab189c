"""Views of runs and their requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from smartspider.core.datetimes import format_time
from smartspider.core.errors import TaskInvalid
from smartspider.core.pages.extraction import StepCount
from smartspider.core.redaction.redactor import without_userinfo
from smartspider.core.runs.run import Counters, Run
from smartspider.core.tasks import TaskRecord
from smartspider.services.dedup import DistinctUrls
from smartspider.services.runs import progress
from smartspider.store.diagnostics.left_out import LeftOutReason, LeftOutRecord, LeftOutReport
from smartspider.store.diagnostics.progress import RunProgress
from smartspider.store.diagnostics.requests import GateStatus
from smartspider.store.diagnostics.store import RunActivity
from smartspider.store.runs.listing import FailedRequest, UrlRow
from smartspider.store.runs.records import HostReceipt, UrlRecord
from smartspider.views.left_out import (
    CoverageGap,
    LeftOutExample,
    LeftOutView,
    LostPage,
    UndecodablePages,
    UnmatchedPages,
)
from smartspider.views.preview import StepView
from smartspider.views.problem import Wrong, wrongs
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


def run_view(run_progress: RunProgress) -> RunView:
    """Return the view of a run in a list."""
    return RunView(**_head(run_progress))


def status_view(
    run_progress: RunProgress,
    left_out: LeftOutReport = LeftOutReport(),
    distinct: DistinctUrls = DistinctUrls(),
) -> StatusView:
    """Return the status of a run."""
    eta = progress.eta(run_progress)
    return StatusView(
        **_head(run_progress),
        eta_low_s=eta.low_s,
        eta_high_s=eta.high_s,
        running_workers=run_progress.workers,
        distinct_estimate=distinct.of_run,
        task_distinct_estimate=distinct.of_task,
        distinct_error=distinct.error,
        **left_out_parts(left_out),
        **lost_parts(left_out),
    )


def left_out_parts(report: LeftOutReport) -> dict[str, Any]:
    """Return what a run left out, as parts of its status and summary."""
    return {
        "left_out": left_out_views(report),
        "missing_entries": [without_userinfo(url) for url in report.missing_entries],
        "missing_entry_count": report.missing_entry_count,
        "empty_fields": report.empty_fields,
    }


def lost_parts(report: LeftOutReport) -> dict[str, Any]:
    """Return the next pages and files that a finished run did not get, as parts of its status and summary."""
    return {
        "lost_next_pages": [
            LostPage(without_userinfo(one.url), one.state, without_userinfo(one.reason), one.cause)
            for one in report.lost_next_pages
        ],
        "lost_next_page_count": report.lost_next_page_count,
        "lost_count": report.lost_count,
        "unmatched": [without_url_secrets(one) for one in report.unmatched],
        "gaps": [without_url_secrets(one) for one in report.gaps],
        "undecodable": report.undecodable and without_url_secrets(report.undecodable),
        "missing_files": [without_userinfo(url) for url in report.missing_files],
        "missing_file_count": report.missing_file_count,
    }


Found = TypeVar("Found", UnmatchedPages, CoverageGap, UndecodablePages)


def without_url_secrets(found: Found) -> Found:
    """Return what was found, with an example that shows no credentials."""
    return msgspec.structs.replace(found, example=without_userinfo(found.example))


def left_out_views(report: LeftOutReport) -> list[LeftOutView]:
    """Return what a run left out, by reason."""
    return [_left_out_view(reason) for reason in report.reasons]


def _left_out_view(reason: LeftOutReason) -> LeftOutView:
    examples = [left_out_example(record) for record in reason.examples]
    return LeftOutView(
        reason=reason.code,
        is_next_page=reason.is_next_page,
        count=reason.count,
        is_at_least=reason.is_cut,
        example=examples[0] if examples else None,
        others=examples[1:],
    )


def left_out_example(record: LeftOutRecord) -> LeftOutExample:
    """Return the view of a URL that was left out."""
    parent = record.parent and without_userinfo(record.parent)
    return LeftOutExample(without_userinfo(record.url), parent, without_userinfo(record.detail))


def status_without_run(task: TaskRecord) -> StatusView:
    """Return the status of a task without a run."""
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
        **left_out_parts(LeftOutReport()),
        **lost_parts(LeftOutReport()),
    )


def metrics_view(
    activity: RunActivity,
    steps: Mapping[str, StepCount],
    left_out: LeftOutReport = LeftOutReport(),
    distinct: DistinctUrls = DistinctUrls(),
) -> MetricsView:
    """Return the status of a run with its hosts, workers and steps."""
    return MetricsView(
        **msgspec.structs.asdict(status_view(activity.progress, left_out, distinct)),
        hosts=[host_view(gate, activity.progress.now) for gate in activity.gates],
        workers=[WorkerShare(share.worker, share.node, share.in_flight) for share in activity.shares],
        knobs=_knobs(activity.progress.run),
        steps={name: StepView(**msgspec.structs.asdict(count)) for name, count in steps.items()},
    )


def _knobs(run: Run) -> KnobsView | None:
    """Return the settings of a run; None if this version cannot read its task."""
    from smartspider.services.runs.tuning import (
        run_knobs,  # imports the task-file validation
    )

    try:
        return run_knobs(run)
    except TaskInvalid:
        return None


def metrics_without_run(task: TaskRecord) -> MetricsView:
    """Return the metrics of a task without a run."""
    return MetricsView(
        **msgspec.structs.asdict(status_without_run(task)), hosts=[], workers=[], knobs=None, steps={}
    )


def host_view(gate: GateStatus, now: float) -> HostView:
    """Return the view of a gate of a run."""
    return HostView(
        host=gate.host,
        queued=gate.queued,
        in_flight=gate.held,
        delay_s=gate.delay_s,
        delay_set_by=gate.set_by,
        held_until=format_time(gate.held_until) if gate.held_until > now else None,
        hold_reason=gate.hold_reason if gate.held_until > now else "",
    )


def started_view(run: Run) -> Started:
    """Return the view of a run after a control operation."""
    return Started(str(run.id), str(run.task_id), run.state, run.reason)


def spec_warnings(spec: bytes) -> list[Wrong]:
    """Return the warnings about a task for its owner."""
    from smartspider.taskfile.checks import find_cautions  # as above
    from smartspider.taskfile.load import parse_spec

    return wrongs(find_cautions(parse_spec(spec)))


def begun_view(run: Run, warnings: list[Wrong]) -> Begun:
    """Return the view of a started run, with warnings about its task."""
    return Begun(str(run.id), str(run.task_id), run.state, run.reason, warnings)


def retried_view(run: Run, requests: int) -> Retried:
    """Return the view of a retried run with the number of requests."""
    return Retried(str(run.id), str(run.task_id), run.state, run.reason, requests)


def failure_view(failure: FailedRequest) -> FailureView:
    """Return the view of a failed request."""
    url, reason = without_userinfo(failure.url), without_userinfo(failure.reason)
    return FailureView(str(failure.id), url, failure.state, reason, failure.cause)


def page_view(row: UrlRow | UrlRecord) -> PageView:
    """Return the view of a request."""
    return PageView(
        id=str(row.id),
        url=without_userinfo(row.url),
        state=row.state,
        reason=without_userinfo(row.reason),
        cause=row.cause,
        status=row.status,
        page=row.page,
        depth=row.depth,
        attempts=row.attempts,
        items=row.items,
        found_at=format_time(row.found_at),
        closed_at=format_time(row.closed_at),
    )


def receipt_view(run_id: int, hosts: list[HostReceipt], left_out: LeftOutReport) -> ReceiptView:
    """Return the politeness receipt of a run."""
    return ReceiptView(
        run_id=str(run_id),
        requests=sum(host.requests for host in hosts),
        violations=sum(host.violations for host in hosts),
        hosts=[ReceiptHost(**msgspec.structs.asdict(host)) for host in hosts],
        left_out=left_out_views(left_out),
    )


def _head(run_progress: RunProgress) -> dict[str, Any]:
    run = run_progress.run
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
        "duration_s": round(run_progress.active_s, 3),
        "pages_per_s": progress.pages_per_s(run_progress),
        "eta_s": progress.eta(run_progress).eta_s,
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
