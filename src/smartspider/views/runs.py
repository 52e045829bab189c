"""Runs as they are told."""

from __future__ import annotations

import msgspec

from smartspider.core.runs import RunState


class StatusView(msgspec.Struct, frozen=True):
    """How a run stands: the counters, how fast it is, and when it may be over."""

    run_id: str
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
    updated: int
    duplicate_urls: int
    bytes_read: int
    pages_per_s: float
    """Over the last half minute."""
    error_rate: float
    """Failed requests among those that ended, 0 to 1."""
    eta_s: float | None
    """Seconds until what is known now is fetched; null: not to be told."""
    eta_low_s: float | None
    eta_high_s: float | None
    running_workers: int
    started_by: str
    created_at: str
    started_at: str | None
    finished_at: str | None


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
    knobs: KnobsView


class Started(msgspec.Struct, frozen=True):
    """A run that was started, or goes on."""

    run_id: str


class FailureView(msgspec.Struct, frozen=True):
    """A request that ended in failure."""

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


class EventView(msgspec.Struct, frozen=True):
    """What watchers of a run are told. `id` numbers the events of the run: 1, 2, 3, ..."""

    id: int
    run_id: str
    at: str
    event: str
    data: msgspec.Raw
