"""The plan of a run: a task compiled into values."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.core.dedup import ItemDedup
from smartspider.core.limits import Guards, Limits
from smartspider.core.politeness import Politeness
from smartspider.core.recrawl import Recrawl
from smartspider.core.request import Request
from smartspider.core.retry import RetryPolicy
from smartspider.core.rules import PagePlan
from smartspider.core.scope import Scope
from smartspider.core.traps import TrapGuards
from smartspider.core.urls import CanonicalRules


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
    scope: Scope
    fetch: FetchPlan = FetchPlan()
    politeness: Politeness = Politeness()
    limits: Limits = Limits()
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
    recrawl: Recrawl = Recrawl()
    urls: Literal["exact", "bloom"] = "exact"
    """`bloom`: what a Bloom filter takes for known is not fetched, though it may be new."""
