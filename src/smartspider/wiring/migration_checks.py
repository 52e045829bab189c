"""Checks before the migration of a data folder to a cluster. They change nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec

from smartspider.backends.postgres.folder_import import FolderImport, ImportState
from smartspider.backends.redis.address import read_url
from smartspider.backends.redis.frontier_index import RedisIndex
from smartspider.backends.redis.shards import Shards
from smartspider.backends.sqlite.folder_export import TABLES, FolderExport
from smartspider.backends.sqlite.move_marker import MoveMarker, folder_moved
from smartspider.core.errors import LeadershipLost, NotAllowed

SHOWN = 4


class MigrationRequest(msgspec.Struct, frozen=True):
    """A data folder, the cluster to move it to, and the actor for the audit."""

    folder: Path
    store_url: str
    frontier_url: str
    actor: str

    def __repr__(self) -> str:
        return f"MigrationRequest({self.folder})"  # the URLs may contain passwords


async def check_migration(request: MigrationRequest, source: FolderExport, target: FolderImport) -> None:
    """Raise `NotAllowed` if the folder cannot be moved to this cluster."""
    check_store(request, source, target)
    begun = target.state()
    if begun is None or not begun.is_finished:
        await _check_redis(request.frontier_url, had_leader=target.last_epoch() > 0)


def check_store(request: MigrationRequest, source: FolderExport, target: FolderImport) -> None:
    """Raise unless the target store is empty or belongs to this migration."""
    target.refuse_version()
    marker, begun = source.marker, target.state()
    if begun is not None and not is_abandoned(source, begun):
        _check_import(request, marker, begun, target)
        return
    if marker is not None and (marker.is_done or marker.store != target.place):
        raise folder_moved(marker, request.folder)
    if begun is None:
        require_empty(target)


def is_abandoned(source: FolderExport, begun: ImportState) -> bool:
    """True if the store is partly filled by a cancelled migration of this folder: it was empty before that
    and has not been usable since.
    """
    return not begun.is_finished and begun.id in source.cancelled_moves


def _check_import(
    request: MigrationRequest, marker: MoveMarker | None, begun: ImportState, target: FolderImport
) -> None:
    if marker is not None and marker.id == begun.id:
        return
    if marker is not None and marker.store != target.place:
        raise folder_moved(marker, request.folder)
    if begun.is_finished:
        raise NotAllowed(
            f"the store at {target.place} was filled by another migration",
            hint="use an empty database: two folders cannot be moved to one store",
        )
    raise NotAllowed(
        f"the store at {target.place} is the target of another unfinished migration",
        hint="use an empty database, or `DROP SCHEMA smartspider CASCADE` if that migration was abandoned",
    )


def require_empty(target: FolderImport) -> None:
    """Raise `NotAllowed` unless the target store is empty."""
    nonempty = target.nonempty([table.name for table in TABLES])
    if nonempty:
        raise NotAllowed(
            f"the store at {target.place} is not empty: rows exist in {', '.join(nonempty[:SHOWN])}"
            f"{' and more' if len(nonempty) > SHOWN else ''}",
            hint="use an empty database: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
        )


async def _check_redis(url: str, *, had_leader: bool) -> None:
    """Raise unless Redis responds, has suitable settings and holds no other frontier."""
    address = read_url(url)
    shards = Shards(address)
    index = RedisIndex(shards)
    try:
        for shard in range(index.shards):
            await shards.call(shard, "look")
            state = await index.shard_state(shard)
            is_taken = state is not None and state.is_armed
            if not had_leader and not is_taken:
                try:
                    await index.disarm(shard, 0)  # refused if a keeper ever used it, else without effect
                except LeadershipLost:
                    is_taken = True
            if is_taken:
                raise NotAllowed(
                    f"the Redis at {address.shown} is in use as the frontier of a cluster",
                    hint="stop its keepers, or use another Redis or another namespace: redis://HOST/?namespace=NAME",
                )
    finally:
        await shards.close()
