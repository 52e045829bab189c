"""The mark of a data folder that was moved to a cluster: from then on nobody works in it, all may read it."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from smartspider.core.errors import NotAllowed


class MoveMarker(msgspec.Struct, frozen=True):
    """Where a folder goes."""

    id: str
    """Of the move; one that is begun anew has another."""
    store: str
    frontier: str
    """Both for people: servers and names, no user and no password."""
    is_done: bool = False
    """Everything is there. Before that, nobody works in either place."""


def read_marker(connection: apsw.Connection) -> MoveMarker | None:
    """The mark of a folder; None: it is where it always was."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'moved'").fetchone()
    return None if found is None else msgspec.json.decode(found[0], type=MoveMarker)


def write_marker(connection: apsw.Connection, marker: MoveMarker | None) -> None:
    """Mark a folder, or take the mark away; it is on the disk when this returns."""
    connection.execute("PRAGMA synchronous = FULL")
    if marker is None:
        connection.execute("DELETE FROM meta WHERE name = 'moved'")
    else:
        value = msgspec.json.encode(marker).decode()
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('moved', ?)", (value,))


def read_cancelled(connection: apsw.Connection) -> list[str]:
    """Ids of moves that were begun and given up: whatever they brought to a store is of no use."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'cancelled_moves'").fetchone()
    return [] if found is None else msgspec.json.decode(found[0], type=list[str])


def cancel_move(connection: apsw.Connection, marker: MoveMarker) -> None:
    """Take the mark of a move away that is not through, and remember it."""
    value = msgspec.json.encode([*read_cancelled(connection), marker.id]).decode()
    connection.execute("PRAGMA synchronous = FULL")
    with connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('cancelled_moves', ?)", (value,))
        connection.execute("DELETE FROM meta WHERE name = 'moved'")


def folder_moved(marker: MoveMarker, folder: Path) -> NotAllowed:
    """Why nobody may work in a folder."""
    if marker.is_done:
        return NotAllowed(
            f"the data folder {folder} was moved to the cluster whose store is at {marker.store}",
            hint="set SMARTSPIDER_STORE_URL and SMARTSPIDER_FRONTIER_URL to work there; here it can only be"
            " read",
        )
    return NotAllowed(
        f"the data folder {folder} is on its way to the cluster whose store is at {marker.store}",
        hint="run the same `smartspider move` again, or `smartspider move --cancel` to stay",
    )
