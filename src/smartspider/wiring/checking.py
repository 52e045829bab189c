"""Whether store and frontier of a cluster agree, and building the frontier anew."""

from __future__ import annotations

import os
import socket

from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.installation.installation import KEY_HINT, NO_KEY, Installation
from smartspider.installation.settings import Settings
from smartspider.services.dedup import check_filter, check_filter_size, filter_sizes
from smartspider.services.doctor import DoctorCheck
from smartspider.services.runs.blockers import missing_leader
from smartspider.store.runs.fsck import Finding
from smartspider.wiring.dedup import filter_location, open_filters
from smartspider.wiring.opening import files_folder, open_installation

FRONTIER = "frontier"
KEY = "master key"


async def check(installation: Installation, settings: Settings, *, repair: bool) -> list[Finding]:
    """What is wrong with the rows, then with the index of what is open and with what is called known."""
    found = await installation.store.fsck(repair=repair)
    if installation.check_frontier is not None:
        runs = [run.id for run in await installation.store.live_runs()]
        wrong = await installation.check_frontier(runs, repair=repair)
        found += [Finding(FRONTIER, message, is_repaired=repair) for message in wrong]
    return found + await _check_known(installation, settings, repair=repair)


async def _check_known(installation: Installation, settings: Settings, *, repair: bool) -> list[Finding]:
    """Sets are looked at whatever the settings say: they may have been made before. Filters cannot be looked
    into, so a repair drops them; then the store is asked instead.
    """
    found: list[Finding] = []
    async with open_filters(filter_location(installation, settings, "exact")) as layers:
        if layers.exact is not None:
            epoch = await installation.stored_urls.epoch()
            found = await check_filter(layers.exact, installation.stored_urls, epoch, repair=repair)
        if repair and layers.lossy is not None:
            for key in await layers.lossy.keys():
                await layers.lossy.drop(key)
    return found


async def check_servers(settings: Settings) -> tuple[list[DoctorCheck], dict[str, int]]:
    """Whether store and frontier can be used and the key is there, and what takes space in the store."""
    checks = [_master_key(settings)]
    filter_sizes: dict[str, int] = {}
    try:
        async with open_installation(files_folder(None, settings), settings) as installation:
            await installation.check_writable()
            filter_sizes = await installation.store.sizes()
            checks.append(DoctorCheck("store", is_ok=True, detail="can be written"))
            checks.append(await _frontier(installation))
            checks += await _known(installation)
    except StoreUnavailable as error:
        checks.append(DoctorCheck("store", is_ok=False, detail=error.line))
    return checks, filter_sizes


def _master_key(settings: Settings) -> DoctorCheck:
    if settings.master_key:
        return DoctorCheck(KEY, is_ok=True, detail="is set; every machine of the cluster needs the same")
    return DoctorCheck(KEY, is_ok=False, detail=f"{NO_KEY} ({KEY_HINT})")


async def _frontier(installation: Installation) -> DoctorCheck:
    assert installation.remote_frontier is not None  # noqa: S101 - a cluster has one
    states = await installation.remote_frontier.index.shard_states()
    armed = sum(state is not None and state.is_armed for state in states)
    why = await installation.frontier_error()
    if why is not None:
        return DoctorCheck(FRONTIER, is_ok=False, detail=why.line)
    if any(state is not None and state.is_taken for state in states):
        words = "another installation has its place in Redis: add ?namespace=NAME to SMARTSPIDER_FRONTIER_URL"
        return DoctorCheck(FRONTIER, is_ok=False, detail=words)
    refused = await installation.refusals()
    text = f"{armed} of {len(states)} parts serve"
    if not armed:
        return DoctorCheck(
            FRONTIER, is_ok=False, detail=f"{text}: does a keeper run? start one: smartspider keeper"
        )
    counted = f"refused: {refused.stale} calls of late workers, {refused.old_epoch} of old leaders"
    return DoctorCheck(FRONTIER, is_ok=armed == len(states), detail=f"{text}; {counted}")


async def unusable(installation: Installation) -> list[str]:
    """Why the frontier of a cluster cannot be used, in words, with what to do; nothing where it can be."""
    why = await installation.frontier_error()
    return [] if why is None else [why.line]


async def missing(installation: Installation) -> list[str]:
    """What keeps the workers of a cluster from getting anything, in words, each with what to do."""
    found = []
    words = missing_leader(await installation.leadership.newest(), installation.leadership.now())
    if words:
        found.append(f"{words}: nothing is handed out until one does; start one: `smartspider keeper`")
    return found + await unusable(installation)


async def _known(installation: Installation) -> list[DoctorCheck]:
    """The memory of each layer before the store, and what it was asked; nothing where none is used."""
    sums = await installation.metrics.sums()
    return [
        check_filter_size(name, size, sums)
        for name, size in (await filter_sizes(installation.filters)).items()
        if size.bytes_used
    ]


async def rebuild(installation: Installation) -> int:
    """Forget what the frontier holds and fill it from the store; how many parts of it serve again."""
    from smartspider.keeper.frontier import rebuilding
    from smartspider.keeper.frontier.duties import build_arming_duties

    if installation.remote_frontier is None:
        raise NotAllowed("a data folder has no frontier apart from its store", hint="use --repair")
    owner = f"fsck:{socket.gethostname()}:{os.getpid()}"
    duties = build_arming_duties(installation.remote_frontier)
    return await rebuilding.rebuild(installation.remote_frontier, duties, installation.clock, owner=owner)
