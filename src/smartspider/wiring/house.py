"""The house: everything the API and the commands of a server stand on, opened once and closed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from smartspider.wiring.folder import DataFolder, open_folder
from smartspider.wiring.settings import Settings


class House(msgspec.Struct, frozen=True):
    """The data folder, and the settings it is used with."""

    folder: DataFolder
    settings: Settings


@asynccontextmanager
async def open_house(path: Path, settings: Settings) -> AsyncIterator[House]:
    """A house on a data folder."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(open_folder(path))
        yield House(folder, settings)
