"""What can be asked about runs and requests while they are worked on."""

from __future__ import annotations

from typing import Protocol

import msgspec

from smartspider.core.runs.run import Run
from smartspider.interfaces.store import StoredItem, UrlRecord


class Mark(msgspec.Struct, frozen=True):
    """How many requests of a run had ended at a moment, skipped ones aside."""

    at: float
    ended: int


class HostQueue(msgspec.Struct, frozen=True):
    """What a run has queued for a host, and how fast that may leave."""

    host: str
    queued: int
    delay_s: float
    opens_at: float


class RunProgress(msgspec.Struct, frozen=True):
    """A run, how it went lately, and what stands in its way."""

    run: Run
    now: float
    """By the clock of the store."""
    active_s: float
    """Seconds it was running in all."""
    resumed_at: float | None
    """Since when it is running without a break."""
    earlier: Mark | None
    """Half a minute ago, when it last went on if that is later, or at the oldest moment that is known."""
    workers: int
    """That serve it."""
    queues: list[HostQueue]
    """The longest of those looked at."""


class GateStatus(msgspec.Struct, frozen=True):
    """A host's gate as it stands for a run."""

    host: str
    queued: int
    in_flight: int
    """Of all runs."""
    held: int
    """Of this run."""
    delay_s: float
    set_by: str
    opens_at: float
    """The first moment a slot may start."""
    held_until: float
    hold_reason: str
    per_host: int
    per_domain: int | None
    domain: str
    in_flight_domain: int
    is_on_trial: bool
    """Its circuit has opened and no answer was good since: one request at a time."""


class HeldRequest(msgspec.Struct, frozen=True):
    """A request in a worker's hands."""

    url: str
    host: str
    worker: str
    deadline_at: float
    sent_at: float | None
    """When it left, where that is kept."""


class Share(msgspec.Struct, frozen=True):
    """What a worker holds of a run."""

    worker: str
    node: str
    in_flight: int


class Failing(msgspec.Struct, frozen=True):
    """A host that requests wait to be sent to again, and what went wrong the last time."""

    host: str
    reason: str


class RunActivity(msgspec.Struct, frozen=True):
    """Everything that decides whether a run moves."""

    standing: RunProgress
    gates: list[GateStatus]
    waiting: int
    """Requests that come back later; no more than a thousand are counted."""
    next_due_at: float | None
    oldest: list[HeldRequest]
    """What was handed out first."""
    shares: list[Share]
    failing: list[Failing] = []
    """Where what comes back first goes to; a few hosts, each once."""


class SendMark(msgspec.Struct, frozen=True):
    """A moment something left for a host, and the delay that was in force."""

    at: float
    run_id: int
    delay_s: float


class RequestDetails(msgspec.Struct, frozen=True):
    """A request with all that is known around it."""

    record: UrlRecord
    now: float
    fingerprint: bytes
    visit: int
    is_entry: bool
    method: str
    body_bytes: int
    due_at: float | None
    """When it comes back."""
    lease: HeldRequest | None
    gate: GateStatus
    sends: list[SendMark]
    """What left for its host around the time it was closed, or last."""
    items: list[StoredItem]
    """A few."""


class Insight(Protocol):
    """1. Nothing is ever changed by asking.
    2. An answer is of one moment.
    3. What is looked at is found by keys and bounded, however much is stored: long lists are cut and say so.
    4. A request is found by its fingerprint; those with a method, a body, headers or meta of their own by
       their URL as well.
    """

    async def progress(self, run_id: int) -> RunProgress:
        """How a run stands; cheap enough to be asked all the time."""

    async def activity(self, run_id: int, limit: int = 20) -> RunActivity:
        """What keeps a run moving or not, with so many gates."""

    async def requests(
        self, run_id: int, fingerprint: bytes, url: str, limit: int = 10
    ) -> list[RequestDetails]:
        """The requests of a run with a fingerprint or for a normal URL, the newest visit of each first."""

    async def has_visited(self, run_id: int, host: str) -> bool:
        """Whether a run has fetched something from a host."""
