"""What stands against moving a data folder to a cluster, said before anything is changed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from smartspider.backends.postgres.folder_import import FolderImport, ImportState
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.index import RedisIndex
from smartspider.backends.redis.shards import Shards
from smartspider.backends.sqlite.folder_export import TABLES, FolderExport
from smartspider.backends.sqlite.move_marker import MoveMarker, folder_moved
from smartspider.core.errors import LeadershipLost, NotAllowed

SHOWN = 4


class Order(msgspec.Struct, frozen=True):
    """What goes where, and who wants it."""

    folder: Path
    store_url: str
    frontier_url: str
    actor: str

    def __repr__(self) -> str:
        return f"Order({self.folder})"  # the URLs may have passwords


async def check(order: Order, source: FolderExport, target: FolderImport) -> None:
    """Raises what stands against it."""
    check_store(order, source, target)
    begun = target.state()
    if begun is None or not begun.is_finished:
        await _refuse_taken(order.frontier_url, has_led=target.last_epoch() > 0)


def check_store(order: Order, source: FolderExport, target: FolderImport) -> None:
    """The store there is empty, or filled by this very move."""
    target.refuse_version()
    mark, begun = source.marker, target.state()
    if begun is not None and not is_given_up(source, begun):
        _refuse_other(order, mark, begun, target)
        return
    if mark is not None and (mark.is_done or mark.store != target.place):
        raise folder_moved(mark, order.folder)
    if begun is None:
        refuse_full(target)


def is_given_up(source: FolderExport, begun: ImportState) -> bool:
    """Whether a store is half filled by a move of this folder that is not gone on with: it was empty before,
    and nobody could use it since.
    """
    return not begun.is_finished and begun.id in source.cancelled_moves


def _refuse_other(order: Order, mark: MoveMarker | None, begun: ImportState, target: FolderImport) -> None:
    if mark is not None and mark.id == begun.id:
        return
    if mark is not None and mark.store != target.place:
        raise folder_moved(mark, order.folder)
    if begun.is_finished:
        raise NotAllowed(
            f"the store at {target.place} was filled by another move",
            hint="use an empty database: a move cannot be put on top of another",
        )
    raise NotAllowed(
        f"the store at {target.place} is half filled by another move",
        hint="use an empty database, or `DROP SCHEMA smartspider CASCADE` if that move was given up",
    )


def refuse_full(target: FolderImport) -> None:
    """A store that has anything in it is not written over."""
    held = target.nonempty([table.name for table in TABLES])
    if held:
        raise NotAllowed(
            f"the store at {target.place} is not empty: it has rows in {', '.join(held[:SHOWN])}"
            f"{' and more' if len(held) > SHOWN else ''}",
            hint="use an empty database: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
        )


async def _refuse_taken(url: str, *, has_led: bool) -> None:
    """It answers, is such as we need it, and belongs to nobody else."""
    address = read_url(url)
    shards = Shards(address)
    index = RedisIndex(shards)
    try:
        for shard in range(index.shards):
            await shards.call(shard, "look")
            state = await index.shard_state(shard)
            is_taken = state is not None and state.is_armed
            if not has_led and not is_taken:
                try:
                    await index.disarm(
                        shard, 0
                    )  # refused when a keeper ever spoke to it, else it does nothing
                except LeadershipLost:
                    is_taken = True
            if is_taken:
                raise NotAllowed(
                    f"the Redis at {address.shown} holds the frontier of a cluster",
                    hint="stop that one's keepers, or use another Redis, or one apart: redis://HOST/?namespace=NAME",
                )
    finally:
        await shards.close()
