"""Views of runs."""

from __future__ import annotations

from typing import Any

import msgspec

from smartspider.core.frontier.cause import CauseCode
from smartspider.core.runs.run import Counters, RunState
from smartspider.views.left_out import CoverageGap, LeftOutView, LostPage, UndecodablePages, UnmatchedPages
from smartspider.views.preview import StepView
from smartspider.views.problem import Wrong


def counted(counters: Counters, in_flight: int) -> dict[str, int]:
    """Return the counters of a run by their public names, used in responses and events."""
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
        "left_out_count": counters.skipped + counters.left_out,
        "seen": counters.seen,
        "files": counters.files,
    }


class RunView(msgspec.Struct, frozen=True):
    """A run and its counters."""

    id: str | None
    run_id: str | None
    """The same as `id`; null if the task has no run yet."""
    task_id: str
    task: str
    version: int
    state: RunState
    reason: str
    total: int
    """The number of distinct requests."""
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
    left_out_count: int
    """The number of URLs that were left out: links that became no request, and skipped requests."""
    seen: int
    """The number of distinct URLs the run met: stored, redirected, missing, failed, left out and still to be
    fetched.
    """
    files: int
    """Downloaded files; they are among `success_count`."""
    broken_count: int
    """Failed requests whose page was fetched but could not be parsed."""
    return_count: int
    """Number of leases reclaimed from dead or unresponsive workers."""
    late_count: int
    """Pages delivered a second time by a late worker and discarded."""
    error_rate: float
    """The share of failed requests among closed ones, 0 to 1."""
    started_by: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    duration_s: float
    """Running time in seconds, excluding pauses."""
    pages_per_s: float
    """Average over the last 30 seconds; for an ended run, over its whole duration."""
    eta_s: float | None
    """Seconds until all known requests are fetched; null if it cannot be estimated."""


class StatusView(RunView, frozen=True):
    """The status of a run: counters, speed and estimated end, and what was left out."""

    eta_low_s: float | None
    eta_high_s: float | None
    running_workers: int
    distinct_estimate: int | None
    """The estimated number of distinct URLs the run has found, if URL filters are shared; otherwise null."""
    task_distinct_estimate: int | None
    """The same for all runs of the task together."""
    distinct_error: float | None
    """The relative standard error of both estimates."""
    left_out: list[LeftOutView]
    """URLs that were left out by reason, next pages first."""
    missing_entries: list[str]
    """The first entry URLs that do not exist (404 or 410)."""
    missing_entry_count: int
    empty_fields: list[str]
    """Fields without a value in any row."""
    lost_next_pages: list[LostPage]
    """The first next pages that failed or do not exist, and requests that did not bring what they were
    followed for, once the run has ended: what follows them was not reached.
    """
    lost_next_page_count: int
    lost_count: int
    """Number of lost pages that brought something else than they were followed for."""
    unmatched: list[UnmatchedPages]
    """Page types whose rules found nothing on any page, once the run has ended."""
    gaps: list[CoverageGap]
    """Pages that brought less than others of their type, once the run has ended; up to ten."""
    undecodable: UndecodablePages | None
    """Pages with bytes that are no characters of their charset, once the run has ended; null: none."""
    missing_files: list[str]
    """The first files that do not exist (404 or 410), once the run has ended."""
    missing_file_count: int


class HostView(msgspec.Struct, frozen=True):
    """A host of a run, and the current state of its gate (rate limit)."""

    host: str
    queued: int
    in_flight: int
    delay_s: float
    delay_set_by: str
    held_until: str | None
    hold_reason: str


class WorkerShare(msgspec.Struct, frozen=True):
    """The requests of a run that a worker has in flight."""

    worker: str
    node: str
    in_flight: int


class KnobsView(msgspec.Struct, frozen=True):
    """The current settings of a run that can be changed while it runs."""

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
    """The status of a run, with details by host and by worker."""

    hosts: list[HostView]
    workers: list[WorkerShare]
    knobs: KnobsView | None
    """Null if the task has no run yet, or if this version cannot read the run's settings."""
    steps: dict[str, StepView]
    """Counts of each step, by its name in the task."""


class Started(msgspec.Struct, frozen=True):
    """The state of a run after it was started or changed."""

    run_id: str
    task_id: str
    state: RunState
    reason: str


class Begun(Started, frozen=True):
    """A started run. `warnings` concern the task; `reason` states what the run is waiting for if no keeper or
    no worker is running.
    """

    warnings: list[Wrong] = []


class Retried(Started, frozen=True):
    """A run whose requests are retried."""

    requests: int
    """Number of requests to retry."""


class Turned(msgspec.Struct, frozen=True, rename={"before": "from", "after": "to"}):
    """A setting before and after a change."""

    before: int | float | None
    after: int | float | None


class TunedView(msgspec.Struct, frozen=True):
    """The settings that were changed, and all current settings."""

    run_id: str
    changed: dict[str, Turned]
    knobs: KnobsView


class Cause(msgspec.Struct, frozen=True, omit_defaults=True, rename={"advice": "try"}):
    """A reason why a run makes no progress. `code` is stable and meant for programs."""

    code: str
    what: str
    advice: str
    until: str | None = None
    hosts: list[str] = []
    """Some of the affected hosts."""


class StallView(msgspec.Struct, frozen=True):
    """The progress of a run; if it makes none, the causes and recommended actions."""

    run_id: str
    state: RunState
    moving: bool
    summary: str
    pages_per_s: float
    causes: list[Cause]


class ReceiptHost(msgspec.Struct, frozen=True):
    """The requests a run sent to a host."""

    host: str
    requests: int
    requests_per_s: float
    smallest_gap_s: float | None
    asked_delay_s: float
    """The smallest delay in effect between requests."""
    refusals: int
    """Responses with status 429 or 503, and timeouts."""
    violations: int
    """Number of gaps shorter than the delay in effect."""


class ReceiptView(msgspec.Struct, frozen=True):
    """The politeness report of a run, and what it left out."""

    run_id: str
    requests: int
    violations: int
    hosts: list[ReceiptHost]
    left_out: list[LeftOutView]


class FailureView(msgspec.Struct, frozen=True):
    """A failed request."""

    id: str
    url: str
    state: str
    reason: str
    cause: CauseCode
    """Why, for programs."""


class PageView(msgspec.Struct, frozen=True):
    """A request of a run."""

    id: str
    url: str
    state: str
    reason: str
    cause: CauseCode | None
    """Why it did not bring what it was made for, for programs; null if it did, or is still open."""
    status: int | None
    page: str
    depth: int
    attempts: int
    items: int
    found_at: str
    closed_at: str | None


class LiveEvent(msgspec.Struct, frozen=True):
    """A message of a stream. `id` is the number of the event within its run, to resume after; messages about
    the stream itself have none.
    """

    id: int | None
    run_id: str | None
    at: str
    event: str
    data: msgspec.Raw


class SeriesPoint(msgspec.Struct, frozen=True):
    """A period of a run. `queued` and `in_flight` are those at its end; the others count what happened in
    it.
    """

    at: str
    """The end of the period."""
    seconds: float
    success: int
    redirects: int
    missing: int
    skipped: int
    failed: int
    retries: int
    items: int
    rejected: int
    bytes_read: int
    queued: int
    in_flight: int


class SeriesMark(msgspec.Struct, frozen=True):
    """An event that explains the course of a run: a change of its state or settings, a held host, a guard."""

    at: str
    event: str
    data: dict[str, Any]


class SeriesView(msgspec.Struct, frozen=True):
    """The course of a run over time, or of all runs together. Over a whole run, the points add up to its
    counters, except that requests which failed and were retried count as failed where they did.
    """

    run_id: str | None
    """Null for all runs together."""
    since: str
    until: str
    points: list[SeriesPoint]
    marks: list[SeriesMark]
