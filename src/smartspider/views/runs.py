"""Runs as they are told."""

from __future__ import annotations

import msgspec

from smartspider.core.runs.run import Counters, RunState
from smartspider.views.preview import StepView
from smartspider.views.problem import Wrong


def counted(counters: Counters, in_flight: int) -> dict[str, int]:
    """What a run counted, by the names it is told by everywhere: in answers and in events."""
    return {
        "total": counters.total,
        "queued": max(counters.open - in_flight, 0),
        "in_flight": in_flight,
        "success_count": counters.done,
        "fail_count": counters.failed,
        "missing_count": counters.missing,
        "skipped_count": counters.skipped,
        "redirect_count": counters.redirect,
        "retry_count": counters.retries,
        "items": counters.items,
        "rejected": counters.rejected,
        "duplicates": counters.duplicates,
        "updated": counters.updated,
        "duplicate_urls": counters.duplicate_urls,
        "bytes_read": counters.bytes_read,
    }


class RunView(msgspec.Struct, frozen=True):
    """A run and what it counted."""

    id: str | None
    run_id: str | None
    """The same; null: the task has no run yet."""
    task_id: str
    task: str
    version: int
    state: RunState
    reason: str
    total: int
    """Distinct requests known."""
    queued: int
    in_flight: int
    success_count: int
    fail_count: int
    missing_count: int
    skipped_count: int
    redirect_count: int
    retry_count: int
    items: int
    rejected: int
    duplicates: int
    """Items dropped as duplicates."""
    updated: int
    duplicate_urls: int
    bytes_read: int
    broken_count: int
    """Of the failed: fetched, but not readable."""
    return_count: int
    """Leases that came back from dead or silent workers."""
    late_count: int
    """Pages that came too late to be stored a second time."""
    error_rate: float
    """Failed requests among those that ended, 0 to 1."""
    started_by: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    duration_s: float
    """Seconds it worked; the time it rested is not among them."""


class StatusView(RunView, frozen=True):
    """How a run stands: the counters, how fast it is, and when it may be over."""

    pages_per_s: float
    """Over the last half minute; of a run that is over, in all."""
    eta_s: float | None
    """Seconds until what is known now is fetched; null: not to be told."""
    eta_low_s: float | None
    eta_high_s: float | None
    running_workers: int
    distinct_estimate: int | None
    """About how many distinct URLs the run has met, where known URLs are shared; null elsewhere."""
    task_distinct_estimate: int | None
    """The same of all runs of the task together."""
    distinct_error: float | None
    """The standard error of both, as a share of them."""


class HostView(msgspec.Struct, frozen=True):
    """A host a run stands at: its gate as it is now."""

    host: str
    queued: int
    in_flight: int
    delay_s: float
    delay_set_by: str
    held_until: str | None
    hold_reason: str


class WorkerShare(msgspec.Struct, frozen=True):
    """What a worker holds of a run."""

    worker: str
    node: str
    in_flight: int


class KnobsView(msgspec.Struct, frozen=True):
    """The knobs of a run as they are turned now."""

    concurrency: int
    delay_s: float
    rate_per_s: float | None
    per_host: int
    priority: int
    max_pages: int | None
    max_items: int | None
    max_depth: int | None
    max_duration_s: float | None
    max_errors: int | None


class MetricsView(StatusView, frozen=True):
    """How a run stands, and that host by host and worker by worker."""

    hosts: list[HostView]
    workers: list[WorkerShare]
    knobs: KnobsView | None
    """Null: the task has no run yet, or one that this version cannot read any more."""
    steps: dict[str, StepView]
    """What each step did, by its name in the task."""


class Started(msgspec.Struct, frozen=True):
    """A run that was started, or was told to do something else, and what it does now."""

    run_id: str
    task_id: str
    state: RunState
    reason: str


class Begun(Started, frozen=True):
    """A run that was started. `warnings` name what its owner should know of the task; `reason` says what it
    waits for where nobody is there to hand it out or to work on it.
    """

    warnings: list[Wrong] = []


class Retried(Started, frozen=True):
    """A run that tries again."""

    requests: int
    """That are fetched once more."""


class Turned(msgspec.Struct, frozen=True, rename={"before": "from", "after": "to"}):
    """A knob before and after."""

    before: int | float | None
    after: int | float | None


class TunedView(msgspec.Struct, frozen=True):
    """What turning knobs replaced, and how they all are now."""

    run_id: str
    changed: dict[str, Turned]
    knobs: KnobsView


class Cause(msgspec.Struct, frozen=True, omit_defaults=True, rename={"advice": "try"}):
    """Something that keeps a run from moving. `code` is stable and made for programs."""

    code: str
    what: str
    advice: str
    until: str | None = None
    hosts: list[str] = []
    """A few of them."""


class StallView(msgspec.Struct, frozen=True):
    """Whether a run moves; if not, why, and what to do."""

    run_id: str
    state: RunState
    moving: bool
    summary: str
    pages_per_s: float
    causes: list[Cause]


class ReceiptHost(msgspec.Struct, frozen=True):
    """How a host was treated in a run."""

    host: str
    requests: int
    requests_per_s: float
    smallest_gap_s: float | None
    asked_delay_s: float
    """The smallest delay that was in force while requests were spaced."""
    refusals: int
    """Answers 429 and 503, and timeouts."""
    violations: int
    """Gaps under the delay that was in force."""


class ReceiptView(msgspec.Struct, frozen=True):
    """The politeness receipt of a run."""

    run_id: str
    requests: int
    violations: int
    hosts: list[ReceiptHost]


class FailureView(msgspec.Struct, frozen=True):
    """A request that ended in failure."""

    id: str
    url: str
    state: str
    reason: str


class PageView(msgspec.Struct, frozen=True):
    """A request of a run."""

    id: str
    url: str
    state: str
    reason: str
    status: int | None
    page: str
    depth: int
    attempts: int
    items: int
    found_at: str
    closed_at: str | None
