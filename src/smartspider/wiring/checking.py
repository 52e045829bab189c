"""Whether store and frontier of a cluster agree, and building the frontier anew."""

from __future__ import annotations

import os
import socket

from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.interfaces.store import Finding
from smartspider.services.doctor import Check
from smartspider.services.known_urls import check_layer, sizes
from smartspider.services.seen import check_seen
from smartspider.services.trouble import nobody_leads
from smartspider.wiring.known import seen_place
from smartspider.wiring.opening import KEY_HINT, NO_KEY, open_premises, place_of
from smartspider.wiring.premises import Premises
from smartspider.wiring.seen import open_layers
from smartspider.wiring.settings import Settings

FRONTIER = "frontier"
KEY = "master key"


async def check(premises: Premises, settings: Settings, *, repair: bool) -> list[Finding]:
    """What is wrong with the rows, then with the index of what is open and with what is called known."""
    found = await premises.store.fsck(repair=repair)
    if premises.check_frontier is not None:
        runs = [run.id for run in await premises.store.live_runs()]
        wrong = await premises.check_frontier(runs, repair=repair)
        found += [Finding(FRONTIER, message, is_repaired=repair) for message in wrong]
    return found + await _check_known(premises, settings, repair=repair)


async def _check_known(premises: Premises, settings: Settings, *, repair: bool) -> list[Finding]:
    """Sets are looked at whatever the settings say: they may have been made before. Filters cannot be looked
    into, so a repair drops them; then the store is asked instead.
    """
    found: list[Finding] = []
    async with open_layers(seen_place(premises, settings, "exact")) as layers:
        if layers.exact is not None:
            epoch = await premises.seen_rows.epoch()
            found = await check_seen(layers.exact, premises.seen_rows, epoch, repair=repair)
        if repair and layers.lossy is not None:
            for key in await layers.lossy.keys():
                await layers.lossy.drop(key)
    return found


async def check_servers(settings: Settings) -> tuple[list[Check], dict[str, int]]:
    """Whether store and frontier can be used and the key is there, and what takes space in the store."""
    checks = [_master_key(settings)]
    sizes: dict[str, int] = {}
    try:
        async with open_premises(place_of(None, settings), settings) as premises:
            await premises.check_writable()
            sizes = await premises.store.sizes()
            checks.append(Check("store", is_ok=True, detail="can be written"))
            checks.append(await _frontier(premises))
            checks += await _known(premises)
    except StoreUnavailable as error:
        checks.append(Check("store", is_ok=False, detail=error.line))
    return checks, sizes


def _master_key(settings: Settings) -> Check:
    if settings.master_key:
        return Check(KEY, is_ok=True, detail="is set; every machine of the cluster needs the same")
    return Check(KEY, is_ok=False, detail=f"{NO_KEY} ({KEY_HINT})")


async def _frontier(premises: Premises) -> Check:
    assert premises.apart is not None  # noqa: S101 - a cluster has one
    states = await premises.apart.index.look()
    armed = sum(state is not None and state.is_armed for state in states)
    why = await premises.why_away()
    if why is not None:
        return Check(FRONTIER, is_ok=False, detail=why.line)
    if any(state is not None and state.is_taken for state in states):
        words = "another installation has its place in Redis: add ?namespace=NAME to SMARTSPIDER_FRONTIER_URL"
        return Check(FRONTIER, is_ok=False, detail=words)
    refused = await premises.refusals()
    text = f"{armed} of {len(states)} parts serve"
    if not armed:
        return Check(
            FRONTIER, is_ok=False, detail=f"{text}: does a keeper run? start one: smartspider keeper"
        )
    counted = f"refused: {refused.stale} calls of late workers, {refused.old_epoch} of old leaders"
    return Check(FRONTIER, is_ok=armed == len(states), detail=f"{text}; {counted}")


async def unusable(premises: Premises) -> list[str]:
    """Why the frontier of a cluster cannot be used, in words, with what to do; nothing where it can be."""
    why = await premises.why_away()
    return [] if why is None else [why.line]


async def missing(premises: Premises) -> list[str]:
    """What keeps the workers of a cluster from getting anything, in words, each with what to do."""
    found = []
    words = nobody_leads(await premises.leadership.newest(), premises.leadership.now())
    if words:
        found.append(f"{words}: nothing is handed out until one does; start one: `smartspider keeper`")
    return found + await unusable(premises)


async def _known(premises: Premises) -> list[Check]:
    """The memory of each layer before the store, and what it was asked; nothing where none is used."""
    sums = await premises.metrics.sums()
    return [
        check_layer(name, size, sums)
        for name, size in (await sizes(premises.layers)).items()
        if size.bytes_used
    ]


async def rebuild(premises: Premises) -> int:
    """Forget what the frontier holds and fill it from the store; how many parts of it serve again."""
    from smartspider.keeper.frontier import rebuilding
    from smartspider.keeper.frontier.duties import arming_duties

    if premises.apart is None:
        raise NotAllowed("a data folder has no frontier apart from its store", hint="use --repair")
    owner = f"fsck:{socket.gethostname()}:{os.getpid()}"
    duties = arming_duties(premises.apart)
    return await rebuilding.rebuild(premises.apart, duties, premises.clock, owner=owner)
