"""The marker of a data folder that moves to a cluster: from then on the folder is read-only."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from smartspider.core.errors import NotAllowed


class MoveMarker(msgspec.Struct, frozen=True):
    """The destination of a folder."""

    id: str
    """Id of the migration; a new attempt has another one."""
    store: str
    frontier: str
    """Both for display: servers and names, without user and password."""
    is_done: bool = False
    """The migration is complete. Before that, neither side can be written."""


def read_marker(connection: apsw.Connection) -> MoveMarker | None:
    """Return the marker of a folder; None if it was not moved."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'moved'").fetchone()
    return None if found is None else msgspec.json.decode(found[0], type=MoveMarker)


def write_marker(connection: apsw.Connection, marker: MoveMarker | None) -> None:
    """Set or remove the marker, durably."""
    connection.execute("PRAGMA synchronous = FULL")
    if marker is None:
        connection.execute("DELETE FROM meta WHERE name = 'moved'")
    else:
        value = msgspec.json.encode(marker).decode()
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('moved', ?)", (value,))


def read_cancelled(connection: apsw.Connection) -> list[str]:
    """Return the ids of cancelled migrations: their rows in a store are of no use."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'cancelled_moves'").fetchone()
    return [] if found is None else msgspec.json.decode(found[0], type=list[str])


def cancel_move(connection: apsw.Connection, marker: MoveMarker) -> None:
    """Remove the marker of an incomplete migration, and remember it as cancelled."""
    value = msgspec.json.encode([*read_cancelled(connection), marker.id]).decode()
    connection.execute("PRAGMA synchronous = FULL")
    with connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('cancelled_moves', ?)", (value,))
        connection.execute("DELETE FROM meta WHERE name = 'moved'")


def folder_moved(marker: MoveMarker, folder: Path) -> NotAllowed:
    """Return the error for writing to a moved folder."""
    if marker.is_done:
        return NotAllowed(
            f"the data folder {folder} was moved to the cluster whose store is at {marker.store}",
            hint="set SMARTSPIDER_STORE_URL and SMARTSPIDER_FRONTIER_URL to use the cluster; the folder is"
            " read-only",
        )
    return NotAllowed(
        f"the data folder {folder} is being moved to the cluster whose store is at {marker.store}",
        hint="run the same `smartspider move` again, or `smartspider move --cancel` to keep the folder",
    )
