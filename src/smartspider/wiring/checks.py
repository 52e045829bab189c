"""Consistency checks of an installation, health of a cluster, and rebuilding its frontier."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

from smartspider.backends.sqlite.schema import exposed_files
from smartspider.core.errors import FrontierUnavailable, NotAllowed, StoreUnavailable
from smartspider.installation.data_folder import DataFolder
from smartspider.installation.installation import KEY_HINT, NO_KEY, Installation, RemoteFrontier
from smartspider.installation.settings import Settings
from smartspider.interfaces.clock import Clock
from smartspider.interfaces.leadership import Term
from smartspider.keeper.keeper import Duty
from smartspider.services.dedup import check_filter, check_filter_size, filter_sizes
from smartspider.services.doctor import DoctorCheck, check_installation
from smartspider.services.readiness import Readiness
from smartspider.services.runs.blockers import missing_leader
from smartspider.store.runs.fsck import Finding
from smartspider.wiring.opening import files_folder, open_installation

FRONTIER = "frontier"
KEY = "master key"


async def check_consistency(installation: Installation, *, repair: bool) -> list[Finding]:
    """Check, and on request repair, the rows of the store, the frontier index and the URL filters."""
    found = await installation.store.fsck(repair=repair)
    if installation.check_frontier is not None:
        runs = [run.id for run in await installation.store.live_runs()]
        wrong = await installation.check_frontier(runs, repair=repair)
        found += [Finding(FRONTIER, message, is_repaired=repair) for message in wrong]
    return found + await _check_filters(installation, repair=repair)


async def _check_filters(installation: Installation, *, repair: bool) -> list[Finding]:
    """Check exact filters. Bloom filters cannot be enumerated, so a repair drops them and lookups go to the
    store.
    """
    found: list[Finding] = []
    filters = installation.filters
    if filters.exact is not None:
        epoch = await installation.stored_urls.epoch()
        found = await check_filter(filters.exact, installation.stored_urls, epoch, repair=repair)
    if repair and filters.lossy is not None:
        for key in await filters.lossy.keys():
            await filters.lossy.drop(key)
    return found


async def check_folder(folder: DataFolder) -> list[DoctorCheck]:
    """Check the clock of a data folder, and who may read it; return what is wrong."""
    return [check for check in [await _clock(folder)] if not check.is_ok] + _permissions(folder.path)


def _permissions(folder: Path) -> list[DoctorCheck]:
    names = exposed_files(folder)
    detail = f"other users may read {', '.join(names[:5])}; run `chmod -R go= {folder}`"
    return [DoctorCheck(f"permissions of {folder}", is_ok=False, detail=detail)] if names else []


async def check_server(installation: Installation, readiness: Readiness) -> list[DoctorCheck]:
    """Check the process of a server and the installation that it has open. The space that is in use is not
    measured: that reads the whole store.
    """
    process = await asyncio.to_thread(check_installation, folder=installation.path)
    ready = [DoctorCheck(one.name, one.ok, one.detail) for one in (await readiness.check()).checks]
    if not installation.is_cluster:
        return process + ready + await asyncio.to_thread(_permissions, installation.path)
    return process + ready + [_master_key(installation.settings), *await _filter_checks(installation)]


async def _clock(installation: Installation) -> DoctorCheck:
    problem = (await installation.store_clock.status()).problem
    detail = f"{problem}; `smartspider node clock --confirm` believes it now" if problem else "agrees"
    return DoctorCheck("clock", is_ok=not problem, detail=detail)


async def check_cluster(settings: Settings) -> tuple[list[DoctorCheck], dict[str, int]]:
    """Check the master key, store, frontier and URL filters; return the checks and the sizes of the store."""
    checks = [_master_key(settings)]
    sizes: dict[str, int] = {}
    try:
        async with open_installation(files_folder(None, settings), settings) as installation:
            await installation.check_writable()
            sizes = await installation.store.sizes()
            checks.append(DoctorCheck("store", is_ok=True, detail="is writable"))
            checks.append(await _clock(installation))
            checks.append(await _frontier(installation))
            checks += await _filter_checks(installation)
    except StoreUnavailable as error:
        checks.append(DoctorCheck("store", is_ok=False, detail=error.line))
    return checks, sizes


def _master_key(settings: Settings) -> DoctorCheck:
    if settings.master_key:
        return DoctorCheck(KEY, is_ok=True, detail="is set; all machines of the cluster need the same one")
    return DoctorCheck(KEY, is_ok=False, detail=f"{NO_KEY} ({KEY_HINT})")


async def _frontier(installation: Installation) -> DoctorCheck:
    assert installation.remote_frontier is not None  # noqa: S101 - a cluster has one
    states = await installation.remote_frontier.index.shard_states()
    armed = sum(state is not None and state.is_armed for state in states)
    error = await installation.frontier_error()
    if error is not None:
        return DoctorCheck(FRONTIER, is_ok=False, detail=error.line)
    if any(state is not None and state.is_taken for state in states):
        detail = "another installation uses this Redis: add ?namespace=NAME to SMARTSPIDER_FRONTIER_URL"
        return DoctorCheck(FRONTIER, is_ok=False, detail=detail)
    refused = await installation.refusals()
    text = f"{armed} of {len(states)} shards ready"
    if not armed:
        return DoctorCheck(FRONTIER, is_ok=False, detail=f"{text}: start a keeper with `smartspider keeper`")
    refusals = f"refused: {refused.stale} calls of late workers, {refused.old_epoch} of old leaders"
    return DoctorCheck(FRONTIER, is_ok=armed == len(states), detail=f"{text}; {refusals}")


async def frontier_problems(installation: Installation) -> list[str]:
    """Return why the frontier of a cluster cannot be used and what to do; empty if it can be used."""
    error = await installation.frontier_error()
    return [] if error is None else [error.line]


async def cluster_problems(installation: Installation) -> list[str]:
    """Return what keeps the workers of a cluster from leasing requests, each with what to do."""
    found = []
    reason = missing_leader(await installation.leadership.newest(), installation.leadership.now())
    if reason:
        found.append(f"{reason}: no request is leased until one does; start one with `smartspider keeper`")
    return found + await frontier_problems(installation)


async def _filter_checks(installation: Installation) -> list[DoctorCheck]:
    """Return the memory use and hit rates of each URL filter in use."""
    sums = await installation.metrics.sums()
    return [
        check_filter_size(name, size, sums)
        for name, size in (await filter_sizes(installation.filters)).items()
        if size.bytes_used
    ]


async def rebuild_frontier(installation: Installation) -> int:
    """Drop the contents of the frontier and refill it from the store; return the number of shards ready."""
    from smartspider.keeper.duties import build_arming_duties

    if installation.remote_frontier is None:
        raise NotAllowed("a data folder has no separate frontier", hint="use --repair")
    owner = f"fsck:{socket.gethostname()}:{os.getpid()}"
    duties = build_arming_duties(installation.remote_frontier)
    return await rebuild(installation.remote_frontier, duties, installation.clock, owner=owner)


TERM_S = 15.0
POLL_S = 0.25
TIMEOUT_S = 120.0


async def rebuild(remote: RemoteFrontier, arming: list[Duty], clock: Clock, *, owner: str) -> int:
    """Clear the frontier and fill it from the store; return the number of serving shards.

    If a keeper leads, it notices the unarmed shards and arms them; else this process takes the lead for it.
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
