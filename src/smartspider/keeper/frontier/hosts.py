"""Telling a shard how the store has its hosts."""

from __future__ import annotations

from smartspider.interfaces.leadership import Term
from smartspider.keeper.frontier.watch import Watch

PAGE = 1000


async def tell_hosts(watch: Watch, term: Term, shard: int) -> None:
    """All gates with anything to say; what a shard knows of a hold is never shortened by that."""
    after = ""
    while page := await watch.rows.hosts(after=after, limit=PAGE):
        mine = [host for host in page if watch.index.shard_of(host.name) == shard]
        if mine:
            await watch.index.set_hosts(shard, term.epoch, mine)
        if len(page) < PAGE:
            break
        after = page[-1].name
