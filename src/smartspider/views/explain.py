"""What is told about one URL."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.verdict import UrlState


class DroppedParam(msgspec.Struct, frozen=True):
    """A query parameter that does not tell pages apart, and by which rule."""

    name: str
    rule: str


class DedupView(msgspec.Struct, frozen=True):
    """What the URL is compared by, and whether an equal request was known."""

    canonical: str
    fingerprint: str
    dropped_params: list[DroppedParam]
    is_known: bool
    known_as: str | None
    """How the request is spelled that stands for it, where that is another spelling."""


class ScopeView(msgspec.Struct, frozen=True):
    """Whether the task's scope and the guards against traps let a link to it in."""

    is_inside: bool
    why: str


class RobotsView(msgspec.Struct, frozen=True):
    """What robots.txt says, as far as it was read."""

    is_obeyed: bool
    is_allowed: bool | None
    """Null: it was not read."""
    line: str | None
    """That decides."""
    status: int | None
    fetched_at: str | None


class SentView(msgspec.Struct, frozen=True):
    """A moment something left for the host, and the delay that was in force."""

    at: str
    run_id: str
    delay_s: float


class GateView(msgspec.Struct, frozen=True):
    """The gate of its host now, and what left around the time it was closed."""

    host: str
    delay_s: float
    delay_set_by: str
    opens_at: str | None
    """Null: it is open."""
    held_until: str | None
    hold_reason: str
    in_flight: int
    per_host: int
    sends: list[SentView]


class LeaseView(msgspec.Struct, frozen=True):
    """Who has it now."""

    worker: str
    sent_at: str | None
    deadline_at: str


class AttemptView(msgspec.Struct, frozen=True):
    """A fetch that failed."""

    at: str
    status: int | None
    reason: str
    elapsed_s: float


class RecordView(msgspec.Struct, frozen=True):
    """A request of the run."""

    id: str
    run_id: str
    url: str
    method: str
    body_bytes: int
    fingerprint: str
    visit: int
    """How often it was opened again by a retry."""
    state: UrlState
    reason: str
    status: int | None
    page: str
    depth: int
    priority: int
    attempts: int
    returns: int
    """Leases that came back from dead or silent workers."""
    items: int
    is_entry: bool
    parent: str | None
    target: str | None
    found_at: str
    closed_at: str | None
    place: str
    due_at: str | None
    lease: LeaseView | None
    failures: list[AttemptView]
    examples: list[msgspec.Raw]
    """A few of its items."""


class ExplanationView(msgspec.Struct, frozen=True):
    """Why a URL was or was not fetched in a run. `verdict` is the answer in a sentence."""

    url: str
    canonical: str
    fingerprint: str
    run_id: str
    task_id: str
    task: str
    run_state: str
    verdict: str
    dedup: DedupView
    scope: ScopeView
    robots: RobotsView
    gate: GateView | None
    record: RecordView | None
    others: list[RecordView]
    """Further requests for the URL: earlier visits, other methods and bodies."""
