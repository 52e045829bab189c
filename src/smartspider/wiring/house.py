"""The house: everything the API and the commands of a server stand on, opened once and closed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from smartspider.services.access import Access, build_access
from smartspider.services.exports import Exports
from smartspider.services.keys import Keys, open_keys
from smartspider.services.readiness import Readiness, keeper_leads, store_writable, workers_alive
from smartspider.wiring.folder import DataFolder, open_folder
from smartspider.wiring.hub import Hub
from smartspider.wiring.previews import Previews
from smartspider.wiring.scratch import Scratch
from smartspider.wiring.settings import Settings


class House(msgspec.Struct, frozen=True):
    """The data folder, and the settings it is used with."""

    folder: DataFolder
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
    """A house on a data folder."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(open_folder(path))
        keys = open_keys(path, settings.master_key)
        access = build_access(folder.users, keys, folder.clock, settings.admin_token)
        hub = Hub(folder.events, folder.logs)
        stack.push_async_callback(hub.close)
        exports = Exports(folder.store, Scratch(path / "exports").folder)
        yield House(folder, settings, access, Previews(), _readiness(folder), hub, exports, keys)


def _readiness(folder: DataFolder) -> Readiness:
    return Readiness(
        folder.clock,
        {
            "store": store_writable(folder.health.check_writable),
            "workers": workers_alive(folder.workers),
            "keeper": keeper_leads(folder.leadership),
        },
    )
