"""The task that crawls the site of a fault run."""

from __future__ import annotations

from typing import Any

from smartspider_testing.chaos.site import SiteLayout

RULES = {
    **{name: {"type": "css", "expr": f"::attr(data-{name})"} for name in ("page", "fetch", "row")},
    "text": {"type": "css", "expr": ".text"},
}


def site_politeness(delay_s: float, *, per_host: int = 8) -> dict[str, Any]:
    """Return the politeness section of a task."""
    return {"politeness": {"robots": "ignore", "delay_s": delay_s, "per_host": per_host, "adaptive": False}}


def site_task(
    layout: SiteLayout, port: int, *, name: str = "chaos", delay_s: float = 0.0, **more: Any
) -> dict[str, Any]:
    """Return a task that follows every link of the site; the first page of each host is an entry."""
    entries = [f"http://{layout.host_of(str(page))}:{port}/p/{page}" for page in range(layout.hosts)]
    return {
        "name": name,
        "entry_urls": entries,
        "selectors": {"items": {"type": "css", "expr": ".row"}, "fields": RULES},
        "follow": [{"selector": "a.child"}],
        "concurrency": 32,
        **site_politeness(delay_s),
        "retry": {"max_attempts": 10, "backoff_s": 0.2, "max_backoff_s": 2.0},
        **more,
    }
