"""Simulated workers: they lease, fetch from a made-up site and settle, one small step at a time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import msgspec

from smartspider.core import failpoints
from smartspider.core.dedup import ItemDedup
from smartspider.core.lease import Later, Lease, Window
from smartspider.core.request import Request, make_request
from smartspider.core.verdict import Close, HostNews, Retry, Send, Settlement
from smartspider_testing.graph import ChangingGraph
from smartspider_testing.sqlite import SqliteGround

IDLE_S = 0.1
RENEW_S = 20.0
MAX_FAILURES = 2
"""Times a fetch of one page fails; after that it comes."""


class Killed(Exception):
    """The process ended at a place between two steps of a transaction, or just after it."""


class SimulatedSite:
    """The pages of a run, spread over hosts; some are also reached by an address that redirects to them."""

    def __init__(self, pages: int, seed: int, hosts: int, dedup: ItemDedup = ItemDedup()) -> None:
        self._dedup = dedup
        self.graph = ChangingGraph(pages, seed)
        self.fetches: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._hosts = hosts

    def request(self, page: str, kind: str = "p") -> Request:
        """The request for a page (`p`), or for the address that leads to it (`r`)."""
        host = random.Random(page).randrange(self._hosts)  # noqa: S311 - spreads pages, no secret
        return make_request(f"http://h{host}.example/{kind}/{page}", priority=len(page) % 3)

    def answer(self, lease: Lease, draw: random.Random) -> Close | Retry:
        """What comes back: a failure now and then, else the page as this fetch shows it."""
        kind, _, page = lease.request.url.partition(".example/")[2].partition("/")
        if self.failures[page] < MAX_FAILURES and draw.random() < 0.1:
            self.failures[page] += 1
            return Retry(draw.uniform(0.0, 5.0), "simulated", counts=draw.random() < 0.7)
        self.fetches[page] += 1
        fetch = self.fetches[page]
        links = [
            self.request(link, "r" if draw.random() < 0.15 else "p")
            for link in [
                *self.graph.children(page),
                *self.graph.leaves(page, fetch),
                *(str(draw.randrange(self.graph.pages)) for _ in range(draw.randint(0, 4))),
            ]
        ]
        items = self.items(page, fetch)
        draw.shuffle(links)
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
        """The rows of one fetch of a page; what they are recognised by is the same on many pages."""
        draw = random.Random(f"{page}/{fetch}/items")  # noqa: S311 - repeatable, no secret
        return [
            {
                "page": page,
                "fetch": fetch,
                "row": row,
                "sku": f"s{draw.randrange(20)}",
                "code": draw.randrange(40),
                "likes": draw.randrange(1000),
            }
            for row in range(self.graph.rows(page, fetch))
        ]


class Tally(msgspec.Struct):
    """What the simulated workers did, for the checks at the end."""

    fetches: int = 0
    retries: int = 0
    wasted: int = 0
    """Pages that were fetched and went down with their worker."""
    sends: dict[str, list[tuple[float, float]]] = {}
    """Per host, the monotonic moments requests left and the delay that was in force."""
    problems: list[str] = []


class SimulatedWorker:
    """One worker of one process. `due_at` is when its next step makes sense, on the monotonic clock."""

    def __init__(
        self, ground: SqliteGround, worker_id: int, sites: dict[int, SimulatedSite], tally: Tally
    ) -> None:
        self.ground = ground
        self.worker_id = worker_id
        self.due_at = ground.clock.monotonic()
        self.fails_at: str | None = None
        """The place inside the next settle where its process ends, or only the answer is lost."""
        self._sites = sites
        self._tally = tally
        self._renew_at = self.due_at + RENEW_S
        self.hand: list[tuple[Lease, Window]] = []
        self.flying: list[tuple[float, Settlement]] = []

    @property
    def leases(self) -> list[Lease]:
        """Everything in its hands."""
        return [lease for lease, _ in self.hand] + [settlement.lease for _, settlement in self.flying]

    async def step(self, draw: random.Random) -> None:
        """One thing: renew, send, settle or lease."""
        now = self.ground.clock.monotonic()
        if now >= self._renew_at and self.leases:
            self._renew_at = now + RENEW_S
            await self.ground.frontier.renew(self.leases)
        ready = [settlement for ready_at, settlement in self.flying if ready_at <= now]
        if self.hand and not (ready and draw.random() < 0.3):
            await self._send(draw, now)
        elif ready:
            await self._settle(ready)
        elif not self.flying or draw.random() < 0.3:
            await self._lease(draw)
        self._plan(now)

    def _plan(self, now: float) -> None:
        moments = [window.not_before for _, window in self.hand] + [ready_at for ready_at, _ in self.flying]
        if moments:
            self.due_at = max(now, min(moments))

    async def _lease(self, draw: random.Random) -> None:
        runs = list(self._sites)
        draw.shuffle(runs)
        batch = await self.ground.frontier.lease(self.worker_id, draw.randint(1, 4), runs)
        self.hand += [(lease, lease.window) for lease in batch.leases]
        wait_s = IDLE_S if batch.next_at is None else max(batch.next_at - batch.now, 0.001)
        self.due_at = self.ground.clock.monotonic() + min(wait_s, 5.0)

    async def _send(self, draw: random.Random, now: float) -> None:
        """Send the next request inside its window; a window that was missed is given up for another."""
        self.hand.sort(key=lambda pair: pair[1].not_before)
        lease, window = self.hand[0]
        host = lease.request.host
        if not window.is_free and now > window.not_after:
            permit = await self.ground.frontier.permit(host)
            if isinstance(permit, Later):  # over before it begins, so that it is asked for again then
                permit = Window(permit.at, permit.at - 1.0, window.delay_s)
            self.hand[0] = (lease, permit)
            return
        if not window.is_free and now < window.not_before:
            return
        self.hand.pop(0)
        self._tally.sends.setdefault(host, []).append((now, window.delay_s))
        verdict = self._sites[lease.run_id].answer(lease, draw)
        self._tally.fetches += 1
        self._tally.retries += isinstance(verdict, Retry)
        news = None
        if draw.random() < 0.03:
            news = HostNews(slow_down=True, hold_s=draw.choice([None, 0.5, 3.0]), reason="simulated")
        sends = () if window.is_free else (Send(host, self.ground.clock.monotonic(), window.delay_s),)
        latency_s = draw.choice([0.0, 0.01, 0.2, 2.0])
        self.flying.append((now + latency_s, Settlement(lease, verdict, news, sends=sends)))

    async def _settle(self, ready: list[Settlement]) -> None:
        """Settle what came; a batch whose answer is lost is settled again."""
        if self.fails_at is not None:
            _kill_at(self.fails_at)
        try:
            await self.ground.ledger.settle(ready)
        finally:
            failpoints.arm(None)
        settled = {id(settlement) for settlement in ready}
        self.flying = [pair for pair in self.flying if id(pair[1]) not in settled]


def _kill_at(name: str) -> None:
    def on_reach(reached: str) -> None:
        if reached == name:
            raise Killed(name)

    failpoints.arm(on_reach)
