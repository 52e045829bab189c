"""Metrics of an installation: counters summed over all workers, and gauges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from smartspider.core.cookies.sets import COOKIE_STATES
from smartspider.installation.installation import Installation
from smartspider.services.dedup import filter_sizes
from smartspider.services.fair_limit import FairLimit
from smartspider.store.metrics import MetricKey

Labels = tuple[tuple[str, str], ...]

FILTER_BYTES = "smartspider_known_urls_bytes"
FILTER_BUDGET = "smartspider_known_urls_budget_bytes"

COOKIES = "smartspider_cookie_sets"
PROXIES = "smartspider_proxies"
PROXY_REQUESTS = "smartspider_proxy_requests_total"
REFUSED = "smartspider_frontier_refused_total"
SLOTS = "smartspider_api_slots"
SLOTS_IN_USE = "smartspider_api_slots_in_use"
SLOTS_AWAITED = "smartspider_api_slots_awaited"
WAITING = "smartspider_requests_waiting"
SLOTS_REFUSED = "smartspider_api_slots_refused_total"

DESCRIPTIONS = {
    "smartspider_pages_total": "Completed requests, by outcome and response status class",
    "smartspider_pages_buried_total": "Requests that failed permanently, by error type",
    "smartspider_left_out_total": "Links and requests that were left out, by reason",
    "smartspider_fetch_seconds": "Duration of page fetches, excluding the wait for the rate limit",
    "smartspider_gate_wait_seconds": "Time that leased requests waited for the rate limit",
    "smartspider_fetch_retries_total": "Failed fetches that are retried, by error type",
    "smartspider_fetched_bytes_total": "Bytes of fetched pages",
    "smartspider_files_total": "Completed downloads of files, by outcome; they are among the pages",
    "smartspider_file_bytes_total": "Bytes of downloaded files",
    "smartspider_items_total": "Stored items",
    "smartspider_items_duplicate_total": "Items dropped as duplicates",
    "smartspider_items_rejected_total": "Items rejected by rules or steps of the task",
    "smartspider_values_cleaned_total": "Values with unstorable characters removed",
    "smartspider_known_urls_total": "Lookups in URL filters, by layer and outcome",
    FILTER_BYTES: "Bytes used by shared URL filters, by layer",
    FILTER_BUDGET: "Maximum bytes of shared URL filters, by layer",
    "smartspider_host_holds_total": "Number of times a host was put on hold",
    "smartspider_hosts_abandoned_total": "Times that all remaining requests of a host were given up",
    "smartspider_leases_returned_total": "Leases reclaimed from dead or unresponsive workers",
    REFUSED: "Rejected calls from workers with expired leases and from former leaders, by kind",
    "smartspider_worker_kills_total": "Worker processes killed by their supervisor, by cause",
    PROXY_REQUESTS: "Requests through proxies, by outcome; failed: by the fault of the proxy",
    "smartspider_guards_tripped_total": "Number of times a guard paused or stopped a run",
    "smartspider_runs": "Live runs, by state",
    "smartspider_requests_open": "Open requests of live runs, by state of the run",
    "smartspider_leases": "Leased requests",
    "smartspider_hosts_held": "Hosts on hold",
    COOKIES: "Sets of cookies in the vault, by state",
    PROXIES: "Proxies of all pools, by state",
    "smartspider_workers": "Registered workers",
    "smartspider_workers_desired": "Desired number of workers; the current number until a keeper has decided",
    "smartspider_worker_slots": "Slots of all workers: the maximum number of requests that work",
    WAITING: "Requests in flight that only wait for bytes and take no slot",
    "smartspider_log_bytes": "Bytes of log lines in the store",
    "smartspider_store_bytes": "Bytes of the store",
    SLOTS: "Concurrent exports, previews, streams, queries and checks that the API allows, by kind",
    SLOTS_IN_USE: "Exports, previews, streams, queries and checks in progress, by kind",
    SLOTS_AWAITED: "Calls that wait for a slot, by kind",
    SLOTS_REFUSED: "Calls refused for lack of a slot, by kind",
}
"""Every metric with its description."""

HISTOGRAMS = ("smartspider_fetch_seconds", "smartspider_gate_wait_seconds")


class MetricFamily(msgspec.Struct, frozen=True):
    """A metric with its values by labels."""

    name: str
    kind: Literal["counter", "gauge"]
    about: str
    values: dict[Labels, float]


class Histogram(msgspec.Struct, frozen=True):
    """A histogram. `buckets` ends with `+Inf`."""

    name: str
    about: str
    buckets: list[tuple[str, float]]
    sum: float
    labels: Labels = ()


async def gather_metrics(installation: Installation) -> tuple[list[MetricFamily], list[Histogram]]:
    """Return all metrics of an installation."""
    store, filters, refusals = installation.metrics, installation.filters, await installation.refusals()
    sums, gauges = dict(await store.sums()), dict(await store.gauges())
    sums[REFUSED, (("kind", "stale"),)] = refusals.stale
    sums[REFUSED, (("kind", "old_epoch"),)] = refusals.old_epoch
    gauges[WAITING, ()] = sum(one.health.waiting for one in await installation.workers.find())
    proxies = await installation.vault.proxies.totals()
    for label, number in (("free", proxies.free), ("banned", proxies.banned)):
        gauges[PROXIES, (("state", label),)] = number
    states = await installation.vault.cookies.states()
    for state in COOKIE_STATES:
        gauges[COOKIES, (("state", state),)] = states.get(state, 0)
    for label, number in (("worked", proxies.worked), ("failed", proxies.failed)):
        sums[PROXY_REQUESTS, (("outcome", label),)] = number
    for name, size in (await filter_sizes(filters)).items():
        gauges[FILTER_BYTES, (("layer", name),)] = size.bytes_used
        gauges[FILTER_BUDGET, (("layer", name),)] = size.bytes_max
    return _families(sums, "counter") + _families(gauges, "gauge"), [
        histogram for name in HISTOGRAMS if (histogram := _histogram(name, sums)) is not None
    ]


def slot_metrics(limits: Sequence[FairLimit]) -> list[MetricFamily]:
    """Return the metrics of the limits of concurrent work in this process."""
    labels: list[Labels] = [(("kind", limit.kind),) for limit in limits]
    gauges = {
        SLOTS: [limit.limits.total for limit in limits],
        SLOTS_IN_USE: [limit.in_use for limit in limits],
        SLOTS_AWAITED: [limit.waiting for limit in limits],
    }
    families = [
        MetricFamily(name, "gauge", DESCRIPTIONS[name], dict(zip(labels, values, strict=True)))
        for name, values in gauges.items()
    ]
    refused: dict[Labels, float] = {label: limit.refused for label, limit in zip(labels, limits, strict=True)}
    return [*families, MetricFamily(SLOTS_REFUSED, "counter", DESCRIPTIONS[SLOTS_REFUSED], refused)]


def _families(values: Mapping[MetricKey, float], kind: Literal["counter", "gauge"]) -> list[MetricFamily]:
    by_name: dict[str, dict[Labels, float]] = defaultdict(dict)
    for (name, labels), value in values.items():
        if name in DESCRIPTIONS:  # metrics of older versions are left out
            by_name[name][labels] = value
    return [MetricFamily(name, kind, DESCRIPTIONS[name], found) for name, found in sorted(by_name.items())]


def _histogram(name: str, sums: Mapping[MetricKey, float]) -> Histogram | None:
    count = sums.get((f"{name}_count", ()))
    if count is None:
        return None
    bounds = {
        dict(labels)["le"]: value for (found, labels), value in sums.items() if found == f"{name}_bucket"
    }
    buckets = sorted(bounds.items(), key=lambda bucket: float(bucket[0]))
    return Histogram(
        name, DESCRIPTIONS[name], [*buckets, ("+Inf", count)], sums.get((f"{name}_sum", ()), 0.0)
    )
