"""The plan of a run: a task compiled into values."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.rules import PagePlan
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.requests.request import Request
from smartspider.core.requests.retry import RetryPolicy
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.requests.urls import CanonicalRules


class RunLimits(msgspec.Struct, frozen=True):
    """Bounds of a run; None means none. They are exact on what is stored."""

    max_pages: int | None = None
    max_items: int | None = None
    max_depth: int | None = None
    max_duration_s: float | None = None
    max_errors: int | None = None


class Guards(msgspec.Struct, frozen=True):
    """When a run is paused because something is wrong with it (`alerts` in the task)."""

    consecutive_failures: int | None = None
    failure_rate: float | None = None
    failure_rate_after: int = 20
    """Finished requests before the failure rate means anything."""
    pauses: bool = True
    """False: only an event and a log line."""


class FetchPlan(msgspec.Struct, frozen=True):
    """How the task's pages are fetched."""

    mode: Literal["http"] = "http"
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 30.0
    max_bytes: int = 20_000_000
    max_redirects: int = 10
    user_agents: tuple[str, ...] = ()
    """Instead of the honest one, by the user's explicit choice; noted in the audit."""


class Plan(msgspec.Struct, frozen=True):
    """Everything a worker needs to know about a run. `spec` is the task it came from, as JSON."""

    name: str
    spec: bytes
    spec_hash: str
    entries: tuple[Request, ...]
    pages: dict[str, PagePlan]
    scope: UrlScope
    fetch: FetchPlan = FetchPlan()
    politeness: PolitenessPolicy = PolitenessPolicy()
    limits: RunLimits = RunLimits()
    retry: RetryPolicy = RetryPolicy()
    canonical: CanonicalRules = CanonicalRules()
    traps: TrapGuards = TrapGuards()
    guards: Guards = Guards()
    concurrency: int = 16
    weight: int = 1
    overrides: tuple[str, ...] = ()
    """Politeness rules the task turns off, in words, for the audit."""
    pipeline: tuple[dict[str, Any], ...] = ()
    """Steps every item goes through: `use`, `fields` and options, as the task has them. One that is not
    `enabled` does nothing, and still counts for the numbers of the others."""
    logs_cleaning: bool = False
    """Keep what each step made of each value."""
    items: ItemDedup = ItemDedup()
    recrawl: RecrawlPolicy = RecrawlPolicy()
    urls: Literal["exact", "bloom"] = "exact"
    """`bloom`: what a Bloom filter takes for known is not fetched, though it may be new."""
