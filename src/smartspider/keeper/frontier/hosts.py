"""Telling a shard how the store has its hosts."""

from __future__ import annotations

from smartspider.core.frontier.updates import HostRow
from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.state import FrontierState, gather_shards

PAGE = 1000
OVERLAP_S = 30.0
"""Longer than any transaction: a change that is committed after a later one is not missed."""


async def send_hosts(state: FrontierState, term: Term, shard: int) -> None:
    """All gates with anything to say; what a shard knows of a hold is never shortened by that."""
    after = ""
    while page := await state.rows.hosts(after=after, limit=PAGE):
        own = [host for host in page if state.index.shard_of(host.name) == shard]
        if own:
            await state.index.set_hosts(shard, term.epoch, own)
        if len(page) < PAGE:
            break
        after = page[-1].name


class SendChangedHosts:
    """Tells shards of gates that changed lately: who changed one may have died before he told of it."""

    name, every_s = "hosts", 2.0

    def __init__(self, state: FrontierState) -> None:
        self._state = state
        self._sent: dict[str, float] = {}
        """Hosts that were told of in this term, by when they changed; the oldest are forgotten."""
        self._last_at = 0.0
        self._epoch = 0

    async def do(self, term: Term) -> None:
        """All that changed since the last time; nothing while no run is there."""
        self._state.begin_term(term)
        if term.epoch != self._epoch:
            self._epoch, self._sent, self._last_at = term.epoch, {}, 0.0
        if not self._state.controls:
            return
        after = max(self._last_at - OVERLAP_S, 0.0)
        seen: dict[str, float] = {}
        while page := await self._state.rows.hosts_changed(after=after, limit=PAGE):
            new = [host for host in page if self._sent.get(host.name, 0.0) < host.changed_at]
            await self._send(term, new)
            seen |= {host.name: host.changed_at for host in page}
            after = page[-1].changed_at
            if len(page) < PAGE:
                break
        self._sent = seen
        self._last_at = max(self._last_at, after if seen else 0.0)

    async def _send(self, term: Term, hosts: list[HostRow]) -> None:
        """A shard that is away hears of all hosts when it is armed."""
        by_shard: dict[int, list[HostRow]] = {}
        for host in hosts:
            by_shard.setdefault(self._state.index.shard_of(host.name), []).append(host)
        await gather_shards(
            self._state.index.set_hosts(shard, term.epoch, own)
            for shard, own in by_shard.items()
            if shard in self._state.armed
        )
