"""The plan of a run: a compiled task with its limits, guards and retry policy."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.rules import CursorPagination, PagePlan
from smartspider.core.requests.origins import OriginTrust, fixed_origin
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.recrawl import RecrawlPolicy
from smartspider.core.requests.request import Request
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.requests.secrets import names_in_requests, references_in
from smartspider.core.requests.urls import CanonicalRules
from smartspider.core.runs.run import VAULT, secret_capability
from smartspider.core.runs.tuning import Tuning, settings_of

DEFAULT_ON_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524})


class RunLimits(msgspec.Struct, frozen=True):
    """Limits of a run; None means no limit. They are exact for stored pages and items."""

    max_pages: int | None = None
    max_items: int | None = None
    max_depth: int | None = None
    max_duration_s: float | None = None
    max_errors: int | None = None


class Guards(msgspec.Struct, frozen=True):
    """Conditions that pause a run that goes wrong (`alerts` in the task)."""

    consecutive_failures: int | None = None
    failure_rate: float | None = None
    failure_rate_after: int = 20
    """Finished requests before the failure rate applies."""
    pauses: bool = True
    """False: only publish an event and a log line."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """Exponential back-off with full jitter."""

    max_attempts: int = 4
    backoff_s: float = 1.0
    max_backoff_s: float = 300.0
    on_status: frozenset[int] = DEFAULT_ON_STATUS

    def is_exhausted(self, failures: int) -> bool:
        """Return whether no attempt is left after `failures` failed ones."""
        return failures >= self.max_attempts

    def delay_s(self, failures: int, chance: float) -> float:
        """Return the delay after the given number of failures; `chance` in [0, 1) is the jitter."""
        ceiling = min(self.max_backoff_s, self.backoff_s * 2.0 ** min(failures - 1, 60))
        return ceiling * chance


HTTP = "http"
"""The mode of plain HTTP."""


class FetchPlan(msgspec.Struct, frozen=True):
    """The fetch settings of a task."""

    mode: str = HTTP
    """The transport that sends the requests; also the capability a worker must have."""
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 30.0
    max_bytes: int = 20_000_000
    truncates: bool = False
    """Cut bodies at `max_bytes` instead of refusing longer ones."""
    max_redirects: int = 10
    user_agents: tuple[str, ...] = ()
    """Instead of the default user agent, at the user's explicit choice; recorded in the audit log."""
    pages: dict[str, FetchPlan] = {}
    """The complete settings of page types that have their own."""
    send_secrets_to: tuple[str, ...] = ()
    """Origins besides those of the entries that secret headers and bodies are sent to."""
    cookies: bool = True
    """Keep the cookies that sites set, and send them back."""
    proxy_pool: str = ""
    """The pool of proxies that requests are sent through; empty: none."""

    def of_page(self, page: str) -> FetchPlan:
        """Return the settings of a page type."""
        return self.pages.get(page, self)

    @property
    def all_headers(self) -> list[tuple[str, str]]:
        """The headers of all page types."""
        plans = (self, *self.pages.values())
        return list(dict.fromkeys(header for plan in plans for header in plan.headers))

    @property
    def proxy_pools(self) -> list[str]:
        """The pools of all page types."""
        return sorted({plan.proxy_pool for plan in (self, *self.pages.values())} - {""})

    @property
    def modes(self) -> frozenset[str]:
        """The transports of all page types."""
        return frozenset(plan.mode for plan in (self, *self.pages.values()))


class Plan(msgspec.Struct, frozen=True):
    """Everything a worker needs to know about a run. `spec` is the source task as JSON."""

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
    """Descriptions of the politeness rules that the task turns off, for the audit log."""
    pipeline: tuple[dict[str, Any], ...] = ()
    """Steps applied to every item: `use`, `fields` and options, as in the task. Disabled steps do nothing but
    keep their number.
    """
    layers: tuple[dict[str, Any], ...] = ()
    """Layers around each fetch: `use`, `pages` and options, as in the task."""
    logs_cleaning: bool = False
    """Keep the cleaning log: every value before and after each step."""
    items: ItemDedup = ItemDedup()
    recrawl: RecrawlPolicy = RecrawlPolicy()
    urls: Literal["exact", "bloom"] = "exact"
    """`bloom`: on a cluster a Bloom filter alone decides what is known; it may skip a new URL."""
    vault_cookies: str | None = None
    """Requests are sent with cookies of the vault: those with this id or name; empty: those for each host."""
    runs_functions: bool = False
    """Steps or rules are functions of Python files; only local commands run them."""

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities a worker must have to lease requests of the run."""
        vault = [VAULT] if self.fetch.proxy_pools or self.vault_cookies is not None else []
        return frozenset({*self.fetch.modes, *map(secret_capability, self.secrets), *vault})

    @property
    def secrets(self) -> frozenset[str]:
        """The names of the secrets that requests and layers of the run refer to."""
        follows = (rule.request for page in self.pages.values() for rule in page.follow if rule.request)
        templates = [part for request in follows for part in (dict(request.headers), request.body)]
        return frozenset(
            (
                *references_in([*(text for _, text in self.fetch.all_headers), *templates, *self.layers]),
                *names_in_requests(entry.extras for entry in self.entries),
            )
        )

    @property
    def trust(self) -> OriginTrust:
        """The origins that secrets are sent to."""
        templates = (rule.request.url for page in self.pages.values() for rule in page.follow if rule.request)
        return OriginTrust(
            (entry.url for entry in self.entries),
            requests=filter(None, map(fixed_origin, templates)),
            named=self.fetch.send_secrets_to,
        )

    @property
    def downloads(self) -> bool:
        """True if files are downloaded."""
        return any(page.kind == "file" for page in self.pages.values())

    @property
    def sends_own_parts(self) -> bool:
        """True if requests have headers or bodies of the task, which may refer to secrets."""
        return (
            bool(self.fetch.all_headers)
            or any(entry.extras.headers or entry.extras.body for entry in self.entries)
            or any(
                isinstance(page.pagination, CursorPagination) or any(rule.request for rule in page.follow)
                for page in self.pages.values()
            )
        )

    def tuned(self, tuning: Tuning) -> Plan:
        """Return the plan with changed settings."""
        settings = settings_of(tuning)
        polite = {name: settings[name] for name in PolitenessPolicy.__struct_fields__ if name in settings}
        limits = {name: settings[name] for name in RunLimits.__struct_fields__ if name in settings}
        return msgspec.structs.replace(
            self,
            politeness=msgspec.structs.replace(self.politeness, **polite),
            limits=msgspec.structs.replace(self.limits, **limits),
            concurrency=settings.get("concurrency", self.concurrency),
            weight=settings.get("priority", self.weight - 1) + 1,
        )
