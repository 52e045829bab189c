"""The folder of the gates that all crawls of a user on this machine share."""

from __future__ import annotations

import os
from pathlib import Path

from smartspider.installation.settings import Settings

OFF = "off"


def gates_folder(settings: Settings) -> Path | None:
    """Return the folder of the settings, or that of the user; None if each data folder has its own gates."""
    if settings.gates_folder:
        return None if settings.gates_folder == OFF else Path(settings.gates_folder).absolute()
    state = os.environ.get("XDG_STATE_HOME", "")
    # The specification asks to ignore relative paths.
    folder = state if state.startswith("/") else os.path.expanduser("~/.local/state")  # noqa: PTH111 - never raises
    return Path(folder) / "smartspider"
