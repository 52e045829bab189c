"""An empty data folder of PostgreSQL."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from smartspider_testing.servers import programs
from smartspider_testing.servers.owner import Owner

ADMIN = "postgres"
USER = "smartspider"
ACCESS = f"local all,replication {ADMIN} trust\nhost all {USER} 127.0.0.1/32 trust\n"
"""Whoever may enter the folder of the socket is the administrator; over TCP comes only an ordinary user."""


def make_data_folder(data: Path, owner: Owner, template: Path | None) -> None:
    """Make the folder; with a template, copy that one, which the first who needs it makes."""
    if template is None:
        _initialise(data, owner)
        return
    template.parent.mkdir(parents=True, exist_ok=True)
    with template.with_name(f"{template.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if template.exists():
            _copy(template, data)
            return
        _initialise(data, owner)
        half = template.with_name(f"{template.name}.half")
        _copy(data, half)
        half.rename(template)


def copy_data_folder(data: Path, owner: Owner, socket_folder: Path, port: int) -> None:
    """A copy of all that a running server has, for one that will follow it."""
    program = str(programs.postgres_folder() / "pg_basebackup")
    source = ("--host", str(socket_folder), "--port", str(port), "--username", ADMIN)
    owner.run(
        program, "--pgdata", str(data), *source, "--checkpoint=fast", "--no-sync", "--write-recovery-conf"
    )


def _initialise(data: Path, owner: Owner) -> None:
    initdb = str(programs.postgres_folder() / "initdb")
    where = ("--pgdata", str(data), "--username", ADMIN, "--auth", "trust")
    owner.run(initdb, *where, "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
    (data / "pg_hba.conf").write_text(ACCESS, encoding="ascii")


def _copy(source: Path, target: Path) -> None:
    """All of it with its owner and its rights; what a killed copy left is overwritten."""
    subprocess.run(["cp", "-a", "--no-target-directory", str(source), str(target)], check=True)
