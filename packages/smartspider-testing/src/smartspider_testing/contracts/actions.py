"""Actions that the suites share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from smartspider.core.frontier.lease import GateClosed, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, HostNews, RetryLater, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.pages.extraction import Item
from smartspider.core.requests.politeness import PolitenessPolicy
from smartspider.core.requests.request import Request, make_request
from smartspider.core.requests.scope import TrapGuards, UrlScope
from smartspider.core.runs.plan import FetchPlan, Guards, Plan, RunLimits
from smartspider.core.runs.run import Run
from smartspider.interfaces.ledger import SettleReport
from smartspider.store.runs.records import UrlRecord
from smartspider_testing.contracts.backend import Backend

HOST = "a.example"


def url(path: str, *, host: str = HOST, priority: int = 0) -> Request:
    """Return a request for a page of a host."""
    return make_request(f"http://{host}/{path}", priority=priority)


def urls(count: int, prefix: str = "p", *, host: str = HOST) -> list[Request]:
    """Return requests for `count` pages."""
    return [url(f"{prefix}{number}", host=host) for number in range(count)]


def plan_of(
    *entries: str | Request,
    name: str = "task",
    limits: RunLimits = RunLimits(),
    guards: Guards = Guards(),
    traps: TrapGuards = TrapGuards(),
    concurrency: int = 64,
    weight: int = 1,
    dedup: ItemDedup = ItemDedup(),
    mode: str = "http",
    **polite: Any,
) -> Plan:
    """Return the plan of a run with these entries; without a delay unless one is given."""
    first = [url(entry) if isinstance(entry, str) else entry for entry in entries or ("",)]
    return Plan(
        name=name,
        spec=b"{}",
        spec_hash="hash",
        entries=tuple(msgspec.structs.replace(entry, is_entry=True) for entry in first),
        pages={},
        scope=UrlScope(),
        fetch=FetchPlan(mode=mode),
        politeness=PolitenessPolicy(**{"delay_s": 0.0, "per_host": 64, **polite}),
        limits=limits,
        guards=guards,
        traps=traps,
        concurrency=concurrency,
        weight=weight,
        items=dedup,
    )


async def begin(backend: Backend, *entries: str | Request, **options: Any) -> Run:
    """Start a run."""
    run = await backend.store.create_run(plan_of(*entries, **options))
    return await backend.store.set_state(run.id, "running")


async def take(backend: Backend, worker_id: int, *runs: Run, want: int = 64) -> list[Lease]:
    """Lease the requests that may be sent now."""
    return (await backend.frontier.lease(worker_id, want, [run.id for run in runs])).leases


async def take_one(backend: Backend, worker_id: int, *runs: Run) -> Lease:
    """Lease exactly one request."""
    (lease,) = await take(backend, worker_id, *runs, want=1)
    return lease


async def permitted(backend: Backend, host: str = HOST) -> SendWindow:
    """Wait for a send window of a host."""
    while isinstance(answer := await backend.frontier.permit(host), GateClosed):
        await backend.clock.advance(max(answer.at - backend.clock.monotonic(), 0.001))
    return answer


async def reclaim(backend: Backend) -> dict[str, int]:
    """Reclaim the leases of dead and silent workers. Return their number by worker."""
    counts: Counter[str] = Counter()
    for event in await backend.frontier.reclaim():
        counts[event.worker] += event.count
    return dict(counts)


def done(lease: Lease, *children: Request, items: Sequence[Item] = (), **more: Any) -> Settlement:
    """Settle a page as done."""
    verdict = Close("done", status=200, items=list(items), children=list(children))
    return Settlement(lease, verdict, **more)


def closed(lease: Lease, state: Any, reason: str = "", **more: Any) -> Settlement:
    """Close a request without items."""
    return Settlement(lease, Close(state, reason=reason), **more)


def landed(lease: Lease, on: Request, *children: Request, items: Sequence[Item] = ()) -> Settlement:
    """Settle a page that a redirect on the same host led to."""
    verdict = Close("redirect", status=200, items=list(items), children=list(children), landed=on)
    return Settlement(lease, verdict)


def redirected(lease: Lease, to: Request) -> Settlement:
    """Settle a redirect to another host."""
    return Settlement(lease, Close("redirect", status=302, children=[to]))


def failed(lease: Lease, *, delay_s: float = 1.0, counts: bool = True, **more: Any) -> Settlement:
    """Retry a failed fetch later."""
    return Settlement(lease, RetryLater(delay_s, "timeout", counts=counts), **more)


def refused(lease: Lease, *, hold_s: float | None = None) -> Settlement:
    """Settle a 429 that slows the host down."""
    news = (HostNews(slow_down=True, hold_s=hold_s, reason="429"),)
    return Settlement(lease, RetryLater(0.0, "429", status=429, counts=False), news)


def down(lease: Lease, **more: Any) -> Settlement:
    """Settle a request whose host is unreachable."""
    news = (HostNews(is_unreachable=True, reason="connect"),)
    return Settlement(lease, RetryLater(0.0, "connect", counts=False), news, **more)


async def settle(backend: Backend, *settlements: Settlement) -> SettleReport:
    """Settle a batch."""
    return await backend.ledger.settle(settlements)


async def record(backend: Backend, run: Run, request: Request | str) -> UrlRecord:
    """Return the row of a request in a run."""
    wanted = url(request) if isinstance(request, str) else request
    (found,) = await backend.store.find_urls(wanted.fingerprint, run.id)
    return found


async def states(backend: Backend, run: Run, *paths: str) -> list[str]:
    """Return the states of pages, in the given order."""
    return [(await record(backend, run, path)).state for path in paths]


async def items(backend: Backend, run: Run) -> list[Item]:
    """Return all committed items of a run."""
    return [json.loads(item.data) async for batch in backend.store.items(run.id) for item in batch]


async def numbers(backend: Backend, run: Run) -> tuple[int, int, int]:
    """Return the numbers of stored, duplicate and updated items of a run."""
    counters = (await backend.store.get_run(run.id)).counters
    return counters.items, counters.duplicates, counters.updated


async def crawl(backend: Backend, worker_id: int, run: Run, *, times: int = 100) -> Counter[str]:
    """Lease and settle as done until nothing is left. Return the number of leases by URL."""
    seen: Counter[str] = Counter()
    for _ in range(times):
        leases = await take(backend, worker_id, run)
        if not leases:
            break
        seen.update(lease.request.url for lease in leases)
        await settle(backend, *(done(lease) for lease in leases))
    return seen
