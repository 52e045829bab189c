"""The house: everything the API and the commands of a server stand on, opened once and closed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from smartspider.services.access import Access, build_access
from smartspider.services.exports import Exports
from smartspider.services.keys import Keys
from smartspider.services.readiness import (
    Check,
    Readiness,
    frontier_serves,
    keeper_leads,
    store_writable,
    workers_alive,
)
from smartspider.wiring.hub import Hub
from smartspider.wiring.opening import keys_of, open_premises
from smartspider.wiring.premises import Premises
from smartspider.wiring.previews import Previews
from smartspider.wiring.scratch import Scratch
from smartspider.wiring.settings import Settings


class House(msgspec.Struct, frozen=True):
    """An installation, and the settings it is used with."""

    premises: Premises
    settings: Settings
    access: Access
    """Who comes, and how they sign in."""
    previews: Previews
    readiness: Readiness
    hub: Hub
    """Tells watchers what is new."""
    exports: Exports
    keys: Keys


@asynccontextmanager
async def open_house(path: Path, settings: Settings) -> AsyncIterator[House]:
    """A house on a data folder, or on a cluster with `path` for the files of this machine."""
    async with AsyncExitStack() as stack:
        premises = await stack.enter_async_context(open_premises(path, settings, "api"))
        keys = keys_of(premises, settings)
        access = build_access(premises.users, keys, premises.clock, settings.admin_token)
        hub = Hub(premises.events, premises.logs)
        stack.push_async_callback(hub.close)
        exports = Exports(premises.store, Scratch(path / "exports").folder)
        readiness = Readiness(premises.clock, readiness_of(premises))
        yield House(premises, settings, access, Previews(), readiness, hub, exports, keys)


def readiness_of(premises: Premises) -> dict[str, Check]:
    """What has to be there for tasks to be run, by name."""
    checks = {
        "store": store_writable(premises.check_writable),
        "workers": workers_alive(premises.workers),
        "keeper": keeper_leads(premises.leadership, premises.leadership.now, is_cluster=premises.is_cluster),
    }
    if premises.is_cluster:
        checks["frontier"] = frontier_serves(premises.count_serving, premises.why_away)
    return checks
