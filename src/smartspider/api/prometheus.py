"""Metrics in the text format of Prometheus, and the separate port that serves them without authentication."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from smartspider.api.middleware.timing import ApiTimings
from smartspider.api.problems import render_problem
from smartspider.api.server import build_server
from smartspider.core.errors import SettingInvalid
from smartspider.operations.services import Services
from smartspider.services.metrics import Histogram, MetricFamily, gather_metrics, slot_metrics
from smartspider.views.problem import ProblemView

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Gathered(Collector):
    """Gathered metrics, collected once."""

    def __init__(self, families: list[MetricFamily], histograms: list[Histogram]) -> None:
        self._families, self._histograms = families, histograms

    def describe(self) -> Iterable[Metric]:
        """Return nothing: metrics are known when they are collected."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        for family in self._families:
            yield _family(family)
        by_name: dict[str, list[Histogram]] = defaultdict(list)
        for histogram in self._histograms:
            by_name[histogram.name].append(histogram)
        for same in by_name.values():
            yield _histogram(same)


async def render_metrics(services: Services, timings: ApiTimings) -> bytes:
    """Return the metrics of an installation and of this process."""
    families, histograms = await gather_metrics(services.installation)
    return exposition(families + slot_metrics(services.slots()), histograms + timings.histograms())


def exposition(families: list[MetricFamily], histograms: list[Histogram]) -> bytes:
    """Return metrics as text, with those of this process."""
    registry = CollectorRegistry()
    registry.register(_Gathered(families, histograms))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return generate_latest(registry)


def _family(family: MetricFamily) -> Metric:
    names = sorted({name for labels in family.values for name, _ in labels})
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(family.name.removesuffix("_total"), family.about, labels=names)
    for labels, value in family.values.items():
        given = dict(labels)
        metric.add_metric([given.get(name, "") for name in names], value)
    return metric


def _histogram(same: list[Histogram]) -> Metric:
    first = same[0]
    metric = HistogramMetricFamily(first.name, first.about, labels=[name for name, _ in first.labels])
    for one in same:
        metric.add_metric([value for _, value in one.labels], one.buckets, one.sum)
    return metric


SHUTDOWN_S = 1


class MetricsOnly:
    """An app that answers `GET /metrics` and nothing else."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if (scope["method"], scope["path"]) != ("GET", "/metrics"):
            return render_problem(
                ProblemView("Not found", 404, "not_found", "this port serves only /metrics", "GET /metrics")
            )
        text = await render_metrics(self._app.state.services, self._app.state.timings)
        return Response(text, media_type=MEDIA_TYPE)


@asynccontextmanager
async def metrics_port(app: FastAPI) -> AsyncIterator[int | None]:
    """Serve metrics at `SMARTSPIDER_METRICS_PORT` if it is set; yield the port, or None."""
    address = app.state.services.installation.settings.metrics_address
    if address is None:
        yield None
        return
    server = build_server(
        MetricsOnly(app), host=address[0], port=address[1], ws="none", timeout_graceful_shutdown=SHUTDOWN_S
    )
    task = asyncio.create_task(_serve(server, address))
    while not server.started:
        if task.done():
            await task  # raises the reason why it did not start
        await asyncio.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def _serve(server: uvicorn.Server, address: tuple[str, int]) -> None:
    try:
        await server.serve()
    except SystemExit:  # uvicorn exits if it cannot listen
        raise SettingInvalid(
            f"SMARTSPIDER_METRICS_PORT: cannot listen on {address[0]}:{address[1]}",
            hint="choose another port, or stop the process that uses it",
        ) from None
