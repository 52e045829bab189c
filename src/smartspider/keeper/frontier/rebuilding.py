"""Rebuild the frontier from the store, on request of an operator."""

from __future__ import annotations

from smartspider.core.errors import FrontierUnavailable, NotAllowed
from smartspider.installation.installation import RemoteFrontier
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.keeper import Duty

TERM_S = 15.0
POLL_S = 0.25
TIMEOUT_S = 120.0


async def rebuild(remote: RemoteFrontier, arming: list[Duty], clock: Clock, *, owner: str) -> int:
    """Clear the frontier and fill it from the store; return the number of serving shards.

    If a keeper leads, it notices the unarmed shards and arms them; else this process takes the lead for
    it.
    """
    led = await remote.leadership.current()
    own = None if led is not None else await remote.leadership.take(owner, TERM_S)
    term = led or own
    if term is None:
        raise NotAllowed("another keeper has just become the leader", hint="try again")
    try:
        for shard in range(remote.index.shards):
            await remote.index.disarm(shard, term.epoch, forgets=True)
        return await _armed(remote, arming, clock, own, owner)
    finally:
        if own is not None:
            await remote.leadership.resign(owner)


async def _armed(
    remote: RemoteFrontier, arming: list[Duty], clock: Clock, own: Term | None, owner: str
) -> int:
    give_up_at = clock.monotonic() + TIMEOUT_S
    while clock.monotonic() < give_up_at:
        if own is not None:
            await remote.leadership.take(owner, TERM_S)
            for duty in arming:
                await duty.do(own)
        states = await remote.index.shard_states()
        if all(state is not None and state.is_armed for state in states):
            return len(states)
        await clock.sleep(POLL_S)
    raise FrontierUnavailable(
        "the frontier was not armed within two minutes", hint="check the log of the leading keeper"
    )
