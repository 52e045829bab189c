"""Creates data folders of PostgreSQL."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from smartspider_testing.servers import programs
from smartspider_testing.servers.owner import Owner
from smartspider_testing.waiting import WAIT_S

ADMIN = "postgres"
USER = "smartspider"
ACCESS = f"local all,replication {ADMIN} trust\nhost all {USER} 127.0.0.1/32 trust\n"
"""Access to the socket's folder implies administrator rights; TCP is for an ordinary user only."""


def make_data_folder(data: Path, owner: Owner, template: Path | None) -> None:
    """Create the folder; with a template, copy the template, which the first caller creates."""
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
    """Copy the data of a running server for a standby."""
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
    """Copy with owner and permissions; overwrite the remains of an interrupted copy."""
    subprocess.run(
        ["cp", "-a", "--no-target-directory", str(source), str(target)], check=True, timeout=WAIT_S
    )
