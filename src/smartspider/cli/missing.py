"""What is not there yet on a cluster, for somebody who starts a process of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

NOTE_S = 5.0
"""How long is looked whether anything is missing."""


async def note_missing(place: Path, *, has_keeper: bool = False) -> None:
    """Say what on a cluster keeps workers from getting anything; a store that is away is told of later.

    With `has_keeper` one is about to lead.
    """
    from smartspider.cli.output import say
    from smartspider.core.errors import StoreUnavailable
    from smartspider.installation.settings import read_settings
    from smartspider.wiring.opening import open_installation

    settings = read_settings()
    if not settings.is_cluster:
        return
    from smartspider.wiring.checking import missing, unusable

    with suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(NOTE_S), open_installation(place, settings) as installation:
            for words in await (unusable if has_keeper else missing)(installation):
                say(f"note: {words}")
