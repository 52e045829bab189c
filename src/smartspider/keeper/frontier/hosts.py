"""Keep the hosts of the shards like those of the store: send changes, evict idle ones."""

from __future__ import annotations

from smartspider.core.errors import FrontierUnavailable
from smartspider.core.frontier.updates import HostRow
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

PAGE = 1000
OVERLAP_S = 30.0
"""Longer than any transaction, so that a change committed after a later one is not missed."""


async def send_hosts(state: FrontierState, term: Term, shard: int) -> None:
    """Send all gates with settings to a shard; this never shortens a hold it knows."""
    after = ""
    while page := await state.rows.hosts(after=after, limit=PAGE):
        own = [host for host in page if state.index.shard_of(host.name) == shard]
        if own:
            await state.index.set_hosts(shard, term.epoch, own)
        if len(page) < PAGE:
            break
        after = page[-1].name


class SendChangedHosts:
    """Sends recently changed gates to shards, in case the process that changed one died before it did."""

    name, every_s = "hosts", 2.0

    def __init__(self, state: FrontierState, page: int = PAGE) -> None:
        self._state = state
        self._page = page
        self._sent: dict[str, float] = {}
        """Hosts sent in this term, by time of change; the oldest are removed."""
        self._last_at = 0.0
        self._epoch = 0

    async def do(self, term: Term) -> None:
        """Send changes since the last time, unless there is no run."""
        self._state.begin_term(term)
        if term.epoch != self._epoch:
            self._epoch, self._sent, self._last_at = term.epoch, {}, 0.0
        if not self._state.controls:
            return
        after = max(self._last_at - OVERLAP_S, 0.0)
        changes: dict[str, float] = {}
        while page := await self._state.rows.hosts_changed(after=after, limit=self._page):
            new = [host for host in page if self._sent.get(host.name, 0.0) < host.changed_at]
            await self._send(term, new)
            changes |= {host.name: host.changed_at for host in page}
            after = page[-1].changed_at
            if len(page) < self._page:
                break
        self._sent = changes
        self._last_at = max(self._last_at, after if changes else 0.0)

    async def _send(self, term: Term, hosts: list[HostRow]) -> None:
        """Send hosts to serving shards; others get all hosts when they are armed."""
        by_shard: dict[int, list[HostRow]] = {}
        for host in hosts:
            by_shard.setdefault(self._state.index.shard_of(host.name), []).append(host)
        await gather_shards(
            self._state.index.set_hosts(shard, term.epoch, own)
            for shard, own in by_shard.items()
            if shard in self._state.armed
        )


SHARE = 0.05
"""Maximum share of the time."""
LONGEST_PAUSE_S = 0.5
IDLE_S = 300.0


class EvictIdleHosts:
    """Scans all hosts in steps, more often while there are idle ones."""

    name = "idle hosts"

    def __init__(self, state: FrontierState, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self.every_s = 30.0

    async def do(self, term: Term) -> None:
        """Scan each serving shard."""
        self._state.begin_term(term)
        gone = 0
        for shard in list(self._state.armed):
            try:
                gone += await self._evict(term, shard)
            except FrontierUnavailable:
                continue
        self.every_s = 30.0 if gone or self._state.controls else IDLE_S

    async def _evict(self, term: Term, shard: int) -> int:
        cursor, gone = "", 0
        while True:
            began_at = self._clock.monotonic()
            cursor, went = await self._state.index.evict_idle_hosts(shard, term.epoch, cursor)
            gone += went
            if not cursor:
                return gone
            took_s = self._clock.monotonic() - began_at
            await self._clock.sleep(min(took_s / SHARE, LONGEST_PAUSE_S))
