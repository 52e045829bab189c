"""The system user of a server that refuses to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from smartspider_testing.servers.errors import NotPossibleHere, ServerFailed
from smartspider_testing.servers.process import as_user
from smartspider_testing.waiting import WAIT_S

LONGEST_HOME = 80
"""The path of a socket file below the folder is limited to 107 bytes."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The user that owns the server's folder and runs it; `user` is None for the current user."""

    user: str | None

    @classmethod
    def for_postgres(cls) -> Owner:
        """Return the current user; for root, the user of the installed PostgreSQL or `nobody`."""
        if os.geteuid() != 0:
            return cls(None)
        for user in ("postgres", "nobody"):
            try:
                pwd.getpwnam(user)
            except KeyError:
                continue
            return cls(user)
        raise NotPossibleHere("PostgreSQL does not run as root, and there is no user postgres or nobody")

    def may_live_in(self, folder: Path) -> bool:
        """Give the folder to the user. Return True if the user can reach it and its path is short enough."""
        self.give(folder)
        is_reached = self.user is None or self._run("test", "-x", str(folder)).returncode == 0
        return is_reached and len(os.fsencode(folder)) <= LONGEST_HOME

    def give(self, folder: Path) -> None:
        """Change the owner of a folder, without its content."""
        if self.user is not None:
            shutil.chown(folder, self.user, pwd.getpwnam(self.user).pw_gid)
        folder.chmod(0o700)

    def give_file(self, file: Path) -> None:
        """Change the owner of a file and make it private."""
        if self.user is not None:
            shutil.chown(file, self.user, pwd.getpwnam(self.user).pw_gid)
        file.chmod(0o600)

    def run(self, *command: str) -> None:
        """Run a command as the user; on failure its output is the message."""
        done = self._run(*command)
        if done.returncode != 0:
            raise ServerFailed(f"{command[0]} ended with {done.returncode}: {done.stdout.strip()}")

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        words = [*as_user(self.user), "--"] if self.user is not None else []
        return subprocess.run(
            [*words, *command],
            cwd="/",
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=WAIT_S,
            check=False,
        )
