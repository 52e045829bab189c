"""Views that explain what happened to one URL."""

from __future__ import annotations

import msgspec

from smartspider.core.frontier.verdict import UrlState
from smartspider.views.left_out import LeftOutLinkView


class DroppedParam(msgspec.Struct, frozen=True):
    """A query parameter that is ignored in URL comparison, and the rule that ignores it."""

    name: str
    rule: str


class DedupView(msgspec.Struct, frozen=True):
    """The canonical form used to detect duplicates. `is_known` is true if the run already has the same
    request.
    """

    canonical: str
    fingerprint: str
    dropped_params: list[DroppedParam]
    is_known: bool
    known_as: str | None
    """The URL of that request, if it differs."""


class ScopeView(msgspec.Struct, frozen=True):
    """The decision of the task's scope and trap limits for the URL."""

    is_inside: bool
    why: str


class RobotsView(msgspec.Struct, frozen=True):
    """The robots.txt decision, if robots.txt was fetched."""

    is_obeyed: bool
    is_allowed: bool | None
    """Null if robots.txt was not fetched."""
    line: str | None
    """The matching line of robots.txt."""
    status: int | None
    fetched_at: str | None


class SentView(msgspec.Struct, frozen=True):
    """The time of a request to the host, and the delay in effect at that time."""

    at: str
    run_id: str
    """Empty for a crawl of the same machine in another data folder."""
    delay_s: float


class GateView(msgspec.Struct, frozen=True):
    """The current gate (rate limit) of the URL's host, and the requests sent around the time the URL was
    fetched or skipped.
    """

    host: str
    delay_s: float
    delay_set_by: str
    opens_at: str | None
    """Null if the gate is open."""
    held_until: str | None
    hold_reason: str
    in_flight: int
    per_host: int
    sends: list[SentView]


class LeaseView(msgspec.Struct, frozen=True):
    """The current lease of a request."""

    worker: str
    sent_at: str | None
    deadline_at: str


class AttemptView(msgspec.Struct, frozen=True):
    """A failed fetch."""

    at: str
    status: int | None
    reason: str
    elapsed_s: float


class RecordView(msgspec.Struct, frozen=True):
    """A request of a run."""

    id: str
    run_id: str
    url: str
    method: str
    body_bytes: int
    fingerprint: str
    visit: int
    """Number of retries."""
    state: UrlState
    reason: str
    status: int | None
    page: str
    depth: int
    priority: int
    attempts: int
    returns: int
    """Number of leases reclaimed from dead or unresponsive workers."""
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
    """Some of its items."""
    rejects: list[str]
    """Why some of its items were rejected."""


class ExplanationView(msgspec.Struct, frozen=True):
    """The explanation of why a URL was or was not fetched in a run. `verdict` summarizes it
    in one sentence.
    """

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
    """Other requests for the URL: earlier visits, other methods and bodies."""
    left_out: LeftOutLinkView | None
    """The link that was refused; null if there is none, or a request."""
