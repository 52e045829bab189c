"""Whether a data folder was left for a cluster: no server is started in it then."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from smartspider.backends.sqlite.database import FILE, connect
from smartspider.backends.sqlite.move_marker import folder_moved, read_marker
from smartspider.backends.sqlite.schema import prepare
from smartspider.installation.settings import read_settings


def refuse_left(path: Path) -> None:
    """Raises `NotAllowed` for a data folder that was moved, or is on its way."""
    if not read_settings().is_cluster:
        refuse_moved(path)


def refuse_moved(path: Path) -> None:
    """The same for who works in the folder itself, whatever the settings say of a cluster."""
    prepare(path)
    with closing(connect(path / FILE)) as connection:
        mark = read_marker(connection)
    if mark is not None:
        raise folder_moved(mark, path)
