"""Views that explain what happened to one URL, and what went wrong in a run."""

from __future__ import annotations

from typing import Literal

import msgspec

from smartspider.core.frontier.cause import CauseCode, ProblemCause, ProblemKind
from smartspider.core.frontier.verdict import UrlState
from smartspider.views.left_out import LeftOutLinkView
from smartspider.views.logs import LogView
from smartspider.views.results import CleaningView, RejectView
from smartspider.views.runs import PageView


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


class UsedProxyView(msgspec.Struct, frozen=True):
    """The proxy of a pool that a request went through."""

    id: str
    url: str | None
    """Without user and password; null if the proxy was removed."""


class AttemptView(msgspec.Struct, frozen=True):
    """A failed fetch."""

    at: str
    status: int | None
    reason: str
    cause: CauseCode
    elapsed_s: float
    delay_s: float | None
    """The delay that was in force for it; null if there was none."""
    proxy: UsedProxyView | None
    """Null if it went through no pool."""
    cookies: str | None
    """The id of the cookies of the vault that it was sent with."""


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
    cause: CauseCode | None
    """Why it did not bring what it was made for, for programs; null if it did, or is still open."""
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
    proxy: UsedProxyView | None
    """Null if it is open, or its page came through no pool."""
    cookies: str | None
    """The id of the cookies of the vault that its page was fetched with."""
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


ProblemAction = Literal["retry", "hold_host", "slow_host", "tune_timeout", "open_rules", "edit_task"]


class ProblemExampleView(msgspec.Struct, frozen=True):
    """The first request of a group."""

    page_id: str
    url: str
    reason: str


class ProblemGroupView(msgspec.Struct, frozen=True):
    """Requests or items with which the same went wrong, at one host. `kind`, `cause` and `actions` are for
    programs.
    """

    kind: ProblemKind
    """`failed`: requests that failed or could not be parsed; `lost`: requests that brought something else
    than they were followed for; `rejected`: items that were not stored; `skipped`: requests that a rule
    closed.
    """
    cause: ProblemCause
    host: str
    count: int
    """The number of requests; of `rejected`, of items."""
    is_at_least: bool
    """True if there are more than are counted."""
    first_at: str
    last_at: str
    step: str
    """The step that rejected the items, as written in the task; empty for anything else."""
    field: str
    """The field for which the items were rejected; empty for anything else."""
    example: ProblemExampleView
    advice: str
    """A sentence about what to try."""
    actions: list[ProblemAction]
    """Ways to react, the most promising first: `retry` these requests, `hold_host`, `slow_host` (a longer
    delay), `tune_timeout`, `open_rules` (selectors or steps), `edit_task` (another setting).
    """


class PageDetails(msgspec.Struct, frozen=True):
    """A request of a run with all that is known about it. Lists are cut: `shown` is their greatest length."""

    page: PageView
    explanation: ExplanationView
    """The same as of `/api/explain`; its `record` has the failed attempts."""
    items: list[msgspec.Raw]
    rejects: list[RejectView]
    cleaning: list[CleaningView]
    """Values that steps changed, if the task logs them."""
    children: int
    """The number of requests that the page was the first to lead to."""
    logs: list[LogView]
    """Log lines about its URL in this run, newest first."""
    shown: int
