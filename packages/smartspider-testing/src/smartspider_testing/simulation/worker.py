"""Simulated workers that lease, fetch from a simulated site and settle, one step at a time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core.frontier.lease import GateClosed, Lease, SendWindow
from smartspider.core.frontier.verdict import Close, HostNews, RetryLater, SentRequest, Settlement
from smartspider.core.items.dedup import ItemDedup
from smartspider.core.requests.request import Request, make_request
from smartspider_testing.backends.sqlite import SqliteBackend
from smartspider_testing.crashes import crash_at
from smartspider_testing.sites.graph import ChangingGraph

IDLE_S = 0.1
RENEW_S = 20.0
MAX_FAILURES = 2
"""Failed fetches per page before one succeeds."""


class SimulatedSite:
    """The pages of a run, spread over hosts; some also have a URL that redirects to them."""

    def __init__(self, pages: int, seed: int, hosts: int, dedup: ItemDedup = ItemDedup()) -> None:
        self._dedup = dedup
        self.graph = ChangingGraph(pages, seed)
        self.fetches: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._hosts = hosts

    def request(self, page: str, kind: str = "p") -> Request:
        """Return the request for a page (`p`) or for its redirecting URL (`r`)."""
        host = random.Random(page).randrange(self._hosts)  # noqa: S311 - spreads pages, no secret
        return make_request(f"http://h{host}.example/{kind}/{page}", priority=len(page) % 3)

    def answer(self, lease: Lease, rng: random.Random) -> Close | RetryLater:
        """Return the verdict of a fetch: an occasional failure, else the page as this fetch shows it."""
        kind, _, page = lease.request.url.partition(".example/")[2].partition("/")
        if self.failures[page] < MAX_FAILURES and rng.random() < 0.1:
            self.failures[page] += 1
            return RetryLater(rng.uniform(0.0, 5.0), "simulated", counts=rng.random() < 0.7)
        self.fetches[page] += 1
        fetch = self.fetches[page]
        links = [
            self.request(link, "r" if rng.random() < 0.15 else "p")
            for link in [
                *self.graph.children(page),
                *self.graph.leaves(page, fetch),
                *(str(rng.randrange(self.graph.pages)) for _ in range(rng.randint(0, 4))),
            ]
        ]
        items = self.items(page, fetch)
        rng.shuffle(links)
        landed = self.request(page) if kind == "r" else None
        return Close(
            "redirect" if landed else "done",
            status=fetch,
            items=items,
            keys=[self._dedup.keys_of(item) for item in items] if self._dedup.keys else [],
            children=links,
            landed=landed,
        )

    def items(self, page: str, fetch: int) -> list[dict[str, Any]]:
        """Return the rows of one fetch of a page; many pages share the same dedup keys."""
        rng = random.Random(f"{page}/{fetch}/items")  # noqa: S311 - repeatable, no secret
        return [
            {
                "page": page,
                "fetch": fetch,
                "row": row,
                "sku": f"s{rng.randrange(20)}",
                "code": rng.randrange(40),
                "likes": rng.randrange(1000),
            }
            for row in range(self.graph.rows(page, fetch))
        ]


class SimulationStats(msgspec.Struct):
    """Counters of the simulated workers, for the final checks."""

    fetches: int = 0
    retries: int = 0
    discarded: int = 0
    """Pages that were fetched and lost with their worker."""
    sends: dict[str, list[tuple[float, float]]] = {}
    """Per host, the monotonic time of each request and the delay in force."""
    problems: list[str] = []


class SimulatedWorker:
    """A worker of one process. `due_at` is the monotonic time of its next step."""

    def __init__(
        self, backend: SqliteBackend, worker_id: int, sites: dict[int, SimulatedSite], stats: SimulationStats
    ) -> None:
        self.backend = backend
        self.worker_id = worker_id
        self.due_at = backend.clock.monotonic()
        self.crash_at: str | None = None
        """The fail point at which the next settle is interrupted."""
        self._sites = sites
        self._stats = stats
        self._renew_at = self.due_at + RENEW_S
        self.leased: list[tuple[Lease, SendWindow]] = []
        self.in_flight: list[tuple[float, Settlement]] = []

    @property
    def leases(self) -> list[Lease]:
        """All leases it holds."""
        return [lease for lease, _ in self.leased] + [settlement.lease for _, settlement in self.in_flight]

    async def step(self, rng: random.Random) -> None:
        """Do one thing: renew, send, settle or lease."""
        now = self.backend.clock.monotonic()
        if now >= self._renew_at and self.leases:
            self._renew_at = now + RENEW_S
            await self.backend.frontier.renew(self.leases)
        ready = [settlement for ready_at, settlement in self.in_flight if ready_at <= now]
        if self.leased and not (ready and rng.random() < 0.3):
            await self._send(rng, now)
        elif ready:
            await self._settle(ready)
        elif not self.in_flight or rng.random() < 0.3:
            await self._lease(rng)
        self._schedule(now)

    def _schedule(self, now: float) -> None:
        moments = [window.not_before for _, window in self.leased] + [
            ready_at for ready_at, _ in self.in_flight
        ]
        if moments:
            self.due_at = max(now, min(moments))

    async def _lease(self, rng: random.Random) -> None:
        runs = list(self._sites)
        rng.shuffle(runs)
        batch = await self.backend.frontier.lease(self.worker_id, rng.randint(1, 4), runs)
        self.leased += [(lease, lease.window) for lease in batch.leases]
        wait_s = IDLE_S if batch.next_at is None else max(batch.next_at - batch.now, 0.001)
        self.due_at = self.backend.clock.monotonic() + min(wait_s, 5.0)

    async def _send(self, rng: random.Random, now: float) -> None:
        """Send the next request within its window; ask for another window if it was missed."""
        self.leased.sort(key=lambda pair: pair[1].not_before)
        lease, window = self.leased[0]
        host = lease.request.host
        if not window.is_free and now > window.not_after:
            permit = await self.backend.frontier.permit(host)
            if isinstance(permit, GateClosed):  # expired, so that the worker asks again then
                permit = SendWindow(permit.at, permit.at - 1.0, window.delay_s)
            self.leased[0] = (lease, permit)
            return
        if not window.is_free and now < window.not_before:
            return
        self.leased.pop(0)
        self._stats.sends.setdefault(host, []).append((now, window.delay_s))
        verdict = self._sites[lease.run_id].answer(lease, rng)
        self._stats.fetches += 1
        self._stats.retries += isinstance(verdict, RetryLater)
        news: tuple[HostNews, ...] = ()
        if rng.random() < 0.03:
            news = (HostNews(slow_down=True, hold_s=rng.choice([None, 0.5, 3.0]), reason="simulated"),)
        sends = () if window.is_free else (SentRequest(host, self.backend.clock.monotonic(), window.delay_s),)
        latency_s = rng.choice([0.0, 0.01, 0.2, 2.0])
        self.in_flight.append((now + latency_s, Settlement(lease, verdict, news, sends=sends)))

    async def _settle(self, ready: list[Settlement]) -> None:
        """Settle fetched pages; a batch whose answer was lost is settled again."""
        if self.crash_at is not None:
            crash_at(self.crash_at)
        try:
            await self.backend.ledger.settle(ready)
        finally:
            failpoints.arm(None)
        settled = {id(settlement) for settlement in ready}
        self.in_flight = [pair for pair in self.in_flight if id(pair[1]) not in settled]
