"""What closing a row means: who may do it, and what is told of it."""

from __future__ import annotations

from smartspider.core.events import Event, PageBuried, PageClosed
from smartspider.core.request import Request
from smartspider.core.verdict import Close, Settlement, UrlState


def closed_event(request: Request, verdict: Close, settlement: Settlement, items: int) -> Event:
    """What became of a request, for those who listen."""
    run_id = settlement.lease.run_id
    if verdict.state in ("dead", "broken"):
        return PageBuried(run_id, request.host, request.url, verdict.reason, verdict.status)
    return PageClosed(
        *(run_id, request.host, request.url, verdict.state, verdict.reason, verdict.status),
        items,
        settlement.elapsed_s,
        duplicates=max(len(verdict.items) - items, 0),
        bytes_read=settlement.bytes_read,
        waited_s=settlement.waited_s,
    )


def replaces(new: UrlState, old: UrlState) -> bool:
    """Done and redirect beat open, dead and skipped; everything else only beats open."""
    if old == "open":
        return True
    return new in ("done", "redirect") and old in ("dead", "skipped")
