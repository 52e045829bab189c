"""How a worker does, measured by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable

from smartspider.core.verdict import Settlement
from smartspider.core.workers import Form

FADES = 200
"""Of so many requests the last ones count."""
LAG_FADES = 5
"""And of so many beats."""
LAG_MAX_S = 2.0
"""A machine that slept was not slow."""


class OwnForm:
    """Counts what comes of requests, and how late this process gets to what is due.

    A worker without requests has no faults: the share begins at nought and grows with what is seen.
    """

    def __init__(self) -> None:
        self._faults = 0.0
        self._request_s = 0.0
        self._requests = 0
        self._pages = 0
        self._lag_s = 0.0
        self._latest_s = 0.0

    def settled(self, settlements: Iterable[Settlement], stored: int) -> None:
        """Requests are over, and of so many of them a page was stored."""
        self._pages += stored
        for one in settlements:
            self._requests += 1
            is_fault = one.news is not None and one.news.is_unreachable
            self._faults += (is_fault - self._faults) / FADES
            self._request_s += (one.elapsed_s - self._request_s) / min(self._requests, FADES)

    def late(self, seconds: float) -> None:
        """Something was done so long after it was due."""
        self._latest_s = max(self._latest_s, min(seconds, LAG_MAX_S))

    def look(self) -> Form:
        """How it does now. Asked for with each beat: the worst lateness since the last one is counted."""
        self._lag_s += (self._latest_s - self._lag_s) / LAG_FADES
        self._latest_s = 0.0
        return Form(
            round(self._lag_s, 4), round(self._faults, 4), round(self._request_s, 6), self._pages, _load()
        )


def _load() -> float:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:  # pragma: no cover - a machine that does not know
        return 0.0
