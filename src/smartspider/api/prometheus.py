"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from smartspider.api.middleware.timing import ApiTimings
from smartspider.installation.installation import Installation
from smartspider.services.metrics import Histogram, MetricFamily, gather_metrics

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


async def render_metrics(installation: Installation, timings: ApiTimings) -> bytes:
    """Return the metrics of an installation and of this process."""
    families, histograms = await gather_metrics(installation)
    return exposition(families, histograms + timings.histograms())


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
