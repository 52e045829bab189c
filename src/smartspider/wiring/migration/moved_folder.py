"""Refuse data folders that were moved to a cluster."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from smartspider.backends.sqlite.database import FILE, connect
from smartspider.backends.sqlite.move_marker import folder_moved, read_marker
from smartspider.backends.sqlite.schema import prepare
from smartspider.installation.settings import read_settings


def check_not_moved(path: Path) -> None:
    """Raise `NotAllowed` for a folder that was or is being moved, unless the settings name a cluster."""
    if not read_settings().is_cluster:
        check_folder_not_moved(path)


def check_folder_not_moved(path: Path) -> None:
    """Raise `NotAllowed` for a folder that was or is being moved, whatever the settings."""
    prepare(path)
    with closing(connect(path / FILE)) as connection:
        marker = read_marker(connection)
    if marker is not None:
        raise folder_moved(marker, path)
