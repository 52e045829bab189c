"""Whether a URL may become a request of a run: scope and traps, judged alike by the crawl and by `why`."""

from __future__ import annotations

from smartspider.core.plan import Plan
from smartspider.core.scope import Scope
from smartspider.core.urls import host_of


def refusal(plan: Plan, scope: Scope, url: str, canonical: str, parent_host: str | None = None) -> str | None:
    """Why a URL is kept out, or None. `scope` is the plan's, with the hosts that joined it on the way."""
    return scope.refusal(canonical, host_of(url), parent_host) or plan.traps.refusal(url)
