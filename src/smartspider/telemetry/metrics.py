"""Count events as metrics. Labels are bounded: never a URL, a host or a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from smartspider.core import errors, events
from smartspider.core.errors import SmartSpiderError
from smartspider.core.events import Event
from smartspider.store.metrics import LEFT_OUT, MetricKey

LATENCY_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

PAGES = "smartspider_pages_total"
FETCH_S = "smartspider_fetch_seconds"
GATE_S = "smartspider_gate_wait_seconds"
BURIED = "smartspider_pages_buried_total"
RETRIES = "smartspider_fetch_retries_total"
ITEMS = "smartspider_items_total"
DUPLICATES = "smartspider_items_duplicate_total"
REJECTED = "smartspider_items_rejected_total"
BYTES = "smartspider_fetched_bytes_total"
FILES = "smartspider_files_total"
FILE_BYTES = "smartspider_file_bytes_total"
HOLDS = "smartspider_host_holds_total"
ABANDONED = "smartspider_hosts_abandoned_total"
RETURNED = "smartspider_leases_returned_total"
KILLS = "smartspider_worker_kills_total"
GUARDS = "smartspider_guards_tripped_total"
CLEANED = "smartspider_values_cleaned_total"
KNOWN = "smartspider_known_urls_total"

OTHER = "other"
_OUTCOMES = frozenset(("done", "redirect", "missing", "skipped", "failed"))
_KNOWN_OUTCOMES = events.UrlFilterCounted.__struct_fields__[2:]
_ERRORS = frozenset(
    kind.code
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SmartSpiderError)
)

Add = Callable[[Mapping[MetricKey, float]], Awaitable[None]]


class EventCounter:
    """Counts events; `flush` adds the counts to the metrics of the installation."""

    def __init__(self, add: Add) -> None:
        self._add = add
        self._counts: Counter[MetricKey] = Counter()

    def __call__(self, event: Event) -> None:  # noqa: C901, PLR0912 - one case for each event that is counted
        """Count an event."""
        match event:
            case events.PageClosed():
                self._closed(event)
            case events.PageBuried(reason=reason, status=status, is_file=is_file):
                self._page("failed", status_class(status))
                self._count(BURIED, error=error_class(reason))
                self._count(FILES, float(is_file), outcome="failed")
            case events.FetchRetried(reason=reason):
                self._count(RETRIES, error=error_class(reason))
            case events.ItemsRejected(count=count):
                self._count(REJECTED, count)
            case events.HostHeld():
                self._count(HOLDS)
            case events.HostAbandoned():
                self._count(ABANDONED)
            case events.LeasesReturned(count=count):
                self._count(RETURNED, count)
            case events.WorkerKilled(cause=cause):
                self._count(KILLS, cause=cause)
            case events.GuardTripped():
                self._count(GUARDS)
            case events.UrlsLeftOut(code=code, count=count):
                self._count(LEFT_OUT, count, reason=code)
            case events.ValuesCleaned(count=count):
                self._count(CLEANED, count)
            case events.UrlFilterCounted(layer=layer):
                for outcome in _KNOWN_OUTCOMES:
                    self._count(KNOWN, getattr(event, outcome), layer=layer, outcome=outcome)

    def _closed(self, page: events.PageClosed) -> None:
        self._page(page.state, status_class(page.status))
        self._timed(FETCH_S, page.elapsed_s - page.waited_s)
        self._timed(GATE_S, page.waited_s)
        self._count(ITEMS, page.items)
        self._count(DUPLICATES, page.duplicates)
        self._count(BYTES, page.bytes_read)
        if page.is_file:
            self._count(FILES, outcome=page.state if page.state in _OUTCOMES else OTHER)
            self._count(FILE_BYTES, page.bytes_read if page.state == "done" else 0)

    def _page(self, state: str, status: str) -> None:
        self._count(PAGES, outcome=state if state in _OUTCOMES else OTHER, status=status)

    def _timed(self, name: str, elapsed_s: float) -> None:
        """Add to a histogram: cumulative buckets, count and sum."""
        if elapsed_s <= 0.0:
            return
        for bound in LATENCY_BUCKETS_S:
            if elapsed_s <= bound:
                self._count(f"{name}_bucket", le=str(bound))
        self._count(f"{name}_count")
        self._count(f"{name}_sum", elapsed_s)

    def _count(self, name: str, by: float = 1.0, **labels: str) -> None:
        if by:
            self._counts[name, tuple(sorted(labels.items()))] += by  # type: ignore[assignment]  # sums of floats

    async def flush(self) -> None:
        """Store the counts; those that the store does not accept are stored next time."""
        counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            await self._add(counts)
        except SmartSpiderError:
            self._counts.update(counts)


def status_class(status: int | None) -> str:
    """Return the class of a status, such as `2xx`; `none` without a response."""
    return f"{status // 100}xx" if status and 100 <= status < 600 else "none"


def error_class(reason: str) -> str:
    """Return the kind of an error from a fixed list, such as `timeout` or `http_5xx`, without the number of
    attempts.
    """
    kind = reason.partition(":")[0].partition("(")[0].strip().lower()
    if kind in _ERRORS:
        return kind
    number = kind.removeprefix("http").strip()
    if number.isascii() and number.isdecimal() and len(number) == 3:
        return f"http_{number[0]}xx"
    return OTHER
