"""What monitoring is told: sums over all workers, and what there is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

import msgspec

from smartspider.installation.installation import Installation
from smartspider.services.dedup import filter_sizes
from smartspider.store.metrics import MetricKey

Labels = tuple[tuple[str, str], ...]

KNOWN_BYTES = "smartspider_known_urls_bytes"
KNOWN_BUDGET = "smartspider_known_urls_budget_bytes"

REFUSED = "smartspider_frontier_refused_total"

ABOUT = {
    "smartspider_pages_total": "Requests that ended, by outcome and class of the answer's status",
    "smartspider_pages_buried_total": "Requests that were given up, by kind of error",
    "smartspider_fetch_seconds": "How long fetches of pages took, waiting for the gate aside",
    "smartspider_gate_wait_seconds": "How long requests in a worker's hands waited for their send windows",
    "smartspider_fetch_retries_total": "Fetches that failed and are tried again, by kind of error",
    "smartspider_fetched_bytes_total": "Bytes of pages that were read",
    "smartspider_items_total": "Items that were stored",
    "smartspider_items_duplicate_total": "Items that were not stored because equal ones are",
    "smartspider_items_rejected_total": "Items that were not kept by a rule of their task",
    "smartspider_values_cleaned_total": "Values from which characters that cannot be stored were removed",
    "smartspider_known_urls_total": "URLs that memories before the store knew or not, by layer and outcome",
    KNOWN_BYTES: "Bytes that memories before the store take, where machines share them, by layer",
    KNOWN_BUDGET: "Bytes that they may take at most, by layer",
    "smartspider_host_holds_total": "Times a host was left alone for a while",
    "smartspider_hosts_abandoned_total": "Times what was left of a host was given up",
    "smartspider_leases_returned_total": "Requests that came back from workers that died or fell silent",
    REFUSED: "Calls of workers that had lost their leases, and of keepers that led no more, by kind",
    "smartspider_guards_tripped_total": "Times a guard saw that something is wrong with a run",
    "smartspider_runs": "Runs that are live, by state",
    "smartspider_requests_open": "Requests of live runs that are still to be fetched, by state of the run",
    "smartspider_leases": "Requests in the hands of workers",
    "smartspider_hosts_held": "Hosts that are left alone for now",
    "smartspider_workers": "Workers that have joined and not left",
    "smartspider_workers_desired": "Workers that are wanted; those there are, until a keeper has decided",
    "smartspider_worker_slots": "Requests that all workers together can have in their hands",
    "smartspider_log_bytes": "Bytes that log lines take in the store",
    "smartspider_store_bytes": "Bytes of the store's file",
}
"""Every metric there is, and what it means."""

HISTOGRAMS = ("smartspider_fetch_seconds", "smartspider_gate_wait_seconds")


class MetricFamily(msgspec.Struct, frozen=True):
    """A metric with all its values by their labels."""

    name: str
    kind: Literal["counter", "gauge"]
    about: str
    values: dict[Labels, float]


class Histogram(msgspec.Struct, frozen=True):
    """How often something took up to so long. `buckets` ends with `+Inf`."""

    name: str
    about: str
    buckets: list[tuple[str, float]]
    sum: float
    labels: Labels = ()


async def gather_metrics(installation: Installation) -> tuple[list[MetricFamily], list[Histogram]]:
    """Return all metrics of an installation."""
    store, layers, refusals = installation.metrics, installation.filters, await installation.refusals()
    sums, gauges = dict(await store.sums()), dict(await store.gauges())
    sums[REFUSED, (("kind", "stale"),)] = refusals.stale
    sums[REFUSED, (("kind", "old_epoch"),)] = refusals.old_epoch
    for name, size in (await filter_sizes(layers)).items():
        gauges[KNOWN_BYTES, (("layer", name),)] = size.bytes_used
        gauges[KNOWN_BUDGET, (("layer", name),)] = size.bytes_max
    return _families(sums, "counter") + _families(gauges, "gauge"), [
        histogram for name in HISTOGRAMS if (histogram := _histogram(name, sums)) is not None
    ]


def _families(values: Mapping[MetricKey, float], kind: Literal["counter", "gauge"]) -> list[MetricFamily]:
    by_name: dict[str, dict[Labels, float]] = defaultdict(dict)
    for (name, labels), value in values.items():
        if name in ABOUT:  # what an older version counted is not told any more
            by_name[name][labels] = value
    return [MetricFamily(name, kind, ABOUT[name], found) for name, found in sorted(by_name.items())]


def _histogram(name: str, sums: Mapping[MetricKey, float]) -> Histogram | None:
    count = sums.get((f"{name}_count", ()))
    if count is None:
        return None
    bounds = {
        dict(labels)["le"]: value for (found, labels), value in sums.items() if found == f"{name}_bucket"
    }
    buckets = sorted(bounds.items(), key=lambda bucket: float(bucket[0]))
    return Histogram(name, ABOUT[name], [*buckets, ("+Inf", count)], sums.get((f"{name}_sum", ()), 0.0))
