"""Response times of the API, by operation."""

from __future__ import annotations

from bisect import bisect_left
from time import perf_counter

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smartspider.services.metrics import Histogram

NAME = "smartspider_api_seconds"
ABOUT = "Time until API responses start, by operation and status class"
BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
OPERATION = "operation"
NONE = "none"
"""The operation of requests that match no route."""


class ApiTimings:
    """Histograms of response times."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = {}

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Add the time until a response started."""
        key = (operation, f"{status // 100}xx")
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = [0] * (len(BOUNDS_S) + 1)
            self._sums[key] = 0.0
        counts[bisect_left(BOUNDS_S, seconds)] += 1
        self._sums[key] += seconds

    def histograms(self) -> list[Histogram]:
        """Return a histogram per operation and status class."""
        found = []
        for (operation, status), counts in sorted(self._counts.items()):
            buckets, total = [], 0
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), counts, strict=True):
                total += count
                buckets.append((bound, float(total)))
            labels = ((OPERATION, operation), ("status", status))
            found.append(Histogram(NAME, ABOUT, buckets, self._sums[operation, status], labels))
        return found


class OperationName:
    """Innermost middleware: stores the name of the matched operation in the state of the scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start" and (route := scope.get("route")) is not None:
                scope.setdefault("state", {})[OPERATION] = route.name
            await send(message)

        await self._app(scope, receive, noted)


class RequestTiming:
    """Outermost middleware: measures the time until a response starts."""

    def __init__(self, app: ASGIApp, times: ApiTimings) -> None:
        self._app, self._times = app, times

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, state = perf_counter(), scope.setdefault("state", {})

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._times.count(state.get(OPERATION, NONE), message["status"], perf_counter() - began)
            await send(message)

        await self._app(scope, receive, timed)


def install_inner(app: FastAPI) -> None:
    """Add `OperationName`; call this before any other middleware is added."""
    app.add_middleware(OperationName)


def install_outer(app: FastAPI) -> None:
    """Add `RequestTiming`; call this after all other middleware is added."""
    app.state.timings = ApiTimings()
    app.add_middleware(RequestTiming, times=app.state.timings)
