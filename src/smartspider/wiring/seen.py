"""The layers in front of an installation's store, opened by its settings."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import msgspec

from smartspider.core.errors import SettingInvalid
from smartspider.interfaces.seen import Layers, SeenRows

Mode = Literal["off", "exact", "exact+bloom"]
MODES: tuple[Mode, ...] = ("off", "exact", "exact+bloom")
SETTING = "SMARTSPIDER_DEDUP"
_SIZE = re.compile(r"([0-9]{1,6}) ?(MB|GB)", re.IGNORECASE)


class SeenPlace(msgspec.Struct, frozen=True):
    """Where layers are: in the Redis of a cluster, or in a data folder."""

    path: Path
    """The data folder; on a cluster it is not used."""
    frontier_url: str = ""
    mode: Mode = "off"
    max_bytes: int = 256_000_000
    """For each kind of layer."""
    rows: SeenRows | None = None
    """What the store says, and what epoch it is in."""

    @property
    def is_shared(self) -> bool:
        """Whether workers of several machines share them."""
        return self.frontier_url.startswith("redis")


def mode_of(text: str) -> Mode:
    """What all tasks share besides the store: nothing, exact sets, or these behind a Bloom filter."""
    for mode in MODES:
        if text == mode:
            return mode
    raise SettingInvalid(f"{SETTING} is {text!r}", hint=f"one of {', '.join(MODES)}")


def memory_of(text: str) -> int:
    """`SMARTSPIDER_DEDUP_MEMORY`: bytes that each kind of layer may take."""
    found = _SIZE.fullmatch(text.strip())
    size = 0 if found is None else int(found[1]) * (10**6 if found[2].upper() == "MB" else 10**9)
    if not size:
        raise SettingInvalid(f"{SETTING}_MEMORY is {text[:40]!r}", hint="1MB or more, as 256MB or 2GB")
    return size


@asynccontextmanager
async def open_layers(place: SeenPlace) -> AsyncIterator[Layers]:
    """The layers of a place, closed at the end; nothing is sent and no file is made before one is used."""
    if place.is_shared:
        from smartspider.backends.redis.connecting import read_url
        from smartspider.backends.redis.seen.opening import open_layers as open_shared

        address = read_url(place.frontier_url)
        async with open_shared(address, place.mode, max_bytes=place.max_bytes) as layers:
            yield layers
        return
    from smartspider.backends.sqlite.seen import FolderBloom

    lossy = FolderBloom(place.path, max_bytes=place.max_bytes, rows=place.rows)
    try:
        yield Layers(lossy=lossy)
    finally:
        lossy.close()
