"""What keeps every run from moving, whatever its own state: the store, the frontier, the keeper."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from smartspider.core.errors import FrontierUnavailable, FrontierUnfit, StoreFull, StoreUnavailable
from smartspider.interfaces.leadership import Leadership, Term
from smartspider.views.runs import Cause
from smartspider.views.times import told_at

NO_WORKER = "no worker is alive; runs wait until one is"
LOOK = "look whether Redis runs"
TAKES_NO_WRITES = "the store takes no writes: disk full"

CountServing = Callable[[], Awaitable[tuple[int, int]]]
"""How many parts of a frontier serve, and how many there are."""

WhyAway = Callable[[], Awaitable[FrontierUnavailable | None]]
"""Why parts of a frontier cannot be used; None where all can, and only wait for the keeper."""


async def nothing_known() -> FrontierUnavailable | None:
    """No reason that anybody could tell."""
    return None


class Cluster(msgspec.Struct, frozen=True):
    """What nothing is handed out without, where the frontier is apart from the store."""

    leadership: Leadership
    count_serving: CountServing
    store_now: Callable[[], float]
    why_away: WhyAway = nothing_known


class Footing(msgspec.Struct, frozen=True):
    """What all runs stand on."""

    check_room: Callable[[], Awaitable[None]]
    cluster: Cluster | None = None


def nobody_leads(newest: Term, now: float) -> str:
    """That no keeper leads, and since when; empty where one does."""
    if newest.until > now:
        return ""
    if newest.epoch == 0:
        return "no keeper ever led"
    return f"no keeper leads since {told_at(newest.until)} ({now - newest.until:.0f} s)"


async def troubles(footing: Footing | None) -> list[Cause]:
    """Causes that stop all runs; none is the usual answer."""
    if footing is None:
        return []
    return await _of_store(footing) + ([] if footing.cluster is None else await _of_cluster(footing.cluster))


async def _of_store(footing: Footing) -> list[Cause]:
    try:
        await footing.check_room()
    except StoreFull:
        advice = "make room on the disk of the store; every run goes on by itself then"
        return [Cause("store_full", TAKES_NO_WRITES, advice)]
    except StoreUnavailable:
        advice = "look at the server of the store; every run goes on by itself when it answers"
        return [Cause("store_unavailable", "the store does not take changes", advice)]
    return []


async def _of_cluster(cluster: Cluster) -> list[Cause]:
    words = nobody_leads(await cluster.leadership.newest(), cluster.store_now())
    if words:
        what = f"{words}: nothing new is handed out"
        return [Cause("no_keeper", what, "start one: `smartspider keeper`")]
    serving, parts = await cluster.count_serving()
    if serving == parts:
        return []
    what = (
        f"only {serving} of {parts} parts of the frontier serve" if serving else "the frontier serves nobody"
    )
    why = await cluster.why_away()
    if why is not None:
        code = "frontier_refused" if isinstance(why, FrontierUnfit) else "frontier_away"
        return [Cause(code, f"{what}: {why.message}", f"{why.hint or LOOK}; runs go on by themselves then")]
    what += ": its Redis began anew and waits for the keeper"
    return [Cause("frontier_waits", what, "wait a few seconds; then look at the log of the keeper")]


def words_for_all(why: FrontierUnavailable) -> str:
    """Why a frontier cannot be used and what to do, for anybody: without naming its place."""
    if isinstance(why, FrontierUnfit):
        return f"its Redis {why.reason} ({why.hint})"
    return "its Redis cannot be used (`smartspider doctor` says why)"
