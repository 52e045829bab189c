"""Installation-wide blockers: conditions of the store, the frontier or the keeper that stop every run."""

from __future__ import annotations

from smartspider.core.datetimes import format_time
from smartspider.core.errors import FrontierUnavailable, FrontierUnfit, StoreFull, StoreUnavailable
from smartspider.installation.installation import Installation
from smartspider.interfaces.leadership import Term
from smartspider.views.runs import Cause

NO_WORKER = "no worker is alive; runs wait until one starts"
CHECK_REDIS = "check that Redis is running"
DISK_FULL = "the store accepts no writes: disk full"


def missing_leader(newest: Term, now: float) -> str:
    """Return a text that says since when no keeper leads; empty if one does."""
    if newest.until > now:
        return ""
    if newest.epoch == 0:
        return "no keeper has been started yet"
    return f"no keeper has led since {format_time(newest.until)} ({now - newest.until:.0f} s)"


async def find_blockers(installation: Installation) -> list[Cause]:
    """Return the causes that stop all runs; usually none."""
    causes = await _store_blockers(installation)
    return causes + await _cluster_blockers(installation) if installation.is_cluster else causes


async def _store_blockers(installation: Installation) -> list[Cause]:
    try:
        await installation.check_room()
    except StoreFull:
        advice = "free disk space for the store; runs then continue automatically"
        return [Cause("store_full", DISK_FULL, advice)]
    except StoreUnavailable:
        advice = "check the database server; runs continue automatically when it is available"
        return [Cause("store_unavailable", "the store accepts no writes", advice)]
    return []


async def _cluster_blockers(installation: Installation) -> list[Cause]:
    leadership = installation.leadership
    reason = missing_leader(await leadership.newest(), leadership.now())
    if reason:
        what = f"{reason}: no request is leased"
        return [Cause("no_keeper", what, "start one with `smartspider keeper`")]
    serving, parts = await installation.count_serving()
    if serving == parts:
        return []
    what = f"only {serving} of {parts} frontier shards are ready" if serving else "no frontier shard is ready"
    why = await installation.frontier_error()
    if why is not None:
        code = "frontier_refused" if isinstance(why, FrontierUnfit) else "frontier_away"
        return [
            Cause(
                code, f"{what}: {why.message}", f"{why.hint or CHECK_REDIS}; runs then continue automatically"
            )
        ]
    what += ": Redis was restarted and is waiting for the keeper"
    return [Cause("frontier_waits", what, "wait a few seconds, then check the log of the keeper")]


def public_reason(why: FrontierUnavailable) -> str:
    """Return why a frontier cannot be used and what to do, without its address, which is not public."""
    if isinstance(why, FrontierUnfit):
        return f"its Redis {why.reason} ({why.hint})"
    return "its Redis cannot be used (run `smartspider doctor` for the reason)"
