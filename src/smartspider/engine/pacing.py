"""The moment at which the result of a page is needed: while its hosts are closed, it can wait for others."""

from __future__ import annotations

from smartspider.core.frontier.lease import SendWindow
from smartspider.core.frontier.verdict import Close, Settlement

MAX_HOSTS = 10_000
"""Hosts that are kept before those that are open again are dropped."""
AT_ONCE, NEVER = float("-inf"), float("inf")


class HostOpenings:
    """The first moment at which each host may be sent to again, by the windows that this worker was granted.

    Other workers may have taken later windows, so a host opens at this moment or later.
    """

    def __init__(self) -> None:
        self._opens_at: dict[str, float] = {}

    def record(self, host: str, window: SendWindow) -> None:
        """Record a window that was granted."""
        if window.is_free:
            return
        if len(self._opens_at) >= MAX_HOSTS:
            later = {name: at for name, at in self._opens_at.items() if at > window.not_before}
            self._opens_at = later if len(later) < MAX_HOSTS else {}
        opens_at = window.not_after + window.delay_s
        self._opens_at[host] = max(self._opens_at.get(host, AT_ONCE), opens_at)

    def needed_at(self, settlement: Settlement) -> float:
        """Return when the settlement may first lead to another request: when its host or one of its links
        opens.

        Failures and observations about the host are needed at once.
        """
        verdict, opens_at = settlement.verdict, self._opens_at
        if not opens_at:
            return AT_ONCE
        needed_at = opens_at.get(settlement.lease.request.host, AT_ONCE)
        if needed_at == AT_ONCE or settlement.news or not isinstance(verdict, Close):
            return AT_ONCE
        for child in (*verdict.children, *verdict.next_pages):
            needed_at = min(needed_at, opens_at.get(child.host, AT_ONCE))
        return needed_at
