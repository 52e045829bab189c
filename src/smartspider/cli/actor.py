"""Who sits at the command line, for the audit."""

from __future__ import annotations

import getpass
import os


def cli_actor() -> str:
    """`cli:` and the name of the user of the operating system, or their number where there is no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid-{os.getuid()}"
    return f"cli:{name}".encode(errors="replace").decode()
