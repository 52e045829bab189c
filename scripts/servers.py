"""Install programs for tests and benchmarks: `servers.py redis|postgres|faketime|chromium|proxies ...`.

Installs missing packages with apt (Debian, Ubuntu), as root or with sudo, without starting a service. Does
nothing, without network access, if everything is installed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider_testing.servers.programs import PACKAGES, missing

PACKAGE_STATE = Path("/var/lib/dpkg")
POLICY = Path("/usr/sbin/policy-rc.d")
MARK = "# written by scripts/servers.py of SmartSpider for the time of one installation"


class InstallFailed(Exception):
    """Installation failed; the message is for the user."""


def main(arguments: list[str], installer: Installer | None = None) -> int:
    """Install the named servers; return 0 on success."""
    if not arguments or not set(arguments) <= set(PACKAGES):
        print(f"usage: servers.py {'|'.join(PACKAGES)} ...", file=sys.stderr)
        return 2
    installer = installer or Installer()
    if not installer.missing(arguments):
        return 0
    try:
        installer.install(arguments)
    except InstallFailed as failure:
        print(f"{'; '.join(installer.missing(arguments).values())} ({failure})", file=sys.stderr)
        return 1
    return 0


class Installer:
    """Installs packages on this machine. `apt_get` runs apt-get, `missing` says what it has to install."""

    def __init__(
        self,
        package_state: Path = PACKAGE_STATE,
        policy: Path = POLICY,
        *,
        apt_get: Callable[..., None] | None = None,
        missing: Callable[[list[str]], dict[str, str]] = missing,
    ) -> None:
        self.package_state, self.policy = package_state, policy
        self.kept_policy = policy.with_name("policy-rc.d.kept-by-smartspider")
        self.missing = missing
        self._apt_get = apt_get or run_apt_get

    def install(self, names: list[str]) -> None:
        """Install missing packages as root or with sudo, or raise with the reason."""
        if shutil.which("apt-get") is None or not self.package_state.is_dir():
            raise InstallFailed("there is no apt-get here to do it")
        if os.geteuid() == 0:
            with self.sole_installer():
                self.install_as_root(names)
        else:
            install_by_sudo(names)
        if self.missing(names):
            raise InstallFailed("apt-get has done what it can")

    def install_as_root(self, names: list[str]) -> None:
        """Install the packages that are still missing."""
        packages = [package for name in self.missing(names) for package in PACKAGES[name]]
        if not packages:
            return
        print(f"installing {', '.join(packages)} with apt-get ...", file=sys.stderr, flush=True)
        command = ("install", "--yes", "--no-install-recommends", *packages)
        with self.no_service_starts():
            try:
                self._apt_get(*command)
            except InstallFailed:  # the package lists are old or were never fetched
                self._apt_get("update")
                self._apt_get(*command)

    @contextmanager
    def sole_installer(self) -> Iterator[None]:
        """Hold a lock that keeps other instances of this script on this machine out."""
        folder = os.open(self.package_state, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    @contextmanager
    def no_service_starts(self) -> Iterator[None]:
        """Prevent packages from starting services; restore the machine's own policy afterwards."""
        policy, kept = self.policy, self.kept_policy
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        if os.path.lexists(kept):  # an earlier run was killed
            kept.replace(policy)
        if os.path.lexists(policy) and not is_ours(policy):
            policy.rename(kept)
        try:
            # If this process is killed here, the remaining policy lets services start again.
            lines = ("#!/bin/sh", MARK, f"[ -d /proc/{os.getpid()} ] && exit 101", "exit 0", "")
            policy.write_text("\n".join(lines), encoding="ascii")
            policy.chmod(0o755)
            yield
        finally:
            policy.unlink(missing_ok=True)
            if os.path.lexists(kept):
                kept.rename(policy)


def install_by_sudo(names: list[str]) -> None:
    """Run this script again as root."""
    sudo = shutil.which("sudo")
    if sudo is None:
        raise InstallFailed("only root can do it, and there is no sudo")
    # Without a terminal sudo cannot ask for a password: fail instead of waiting.
    asking = [] if sys.stdin.isatty() else ["-n"]
    if subprocess.run([sudo, *asking, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise InstallFailed("only root can do it, and sudo does not let us")
    # -B: root must not leave bytecode files in the checkout.
    done = subprocess.run([sudo, *asking, sys.executable, "-B", __file__, *names], check=False)
    if done.returncode != 0:
        raise InstallFailed("see above")


def is_ours(policy: Path) -> bool:
    """Return True if this file remains from an earlier, killed run."""
    try:
        return MARK in policy.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def run_apt_get(*words: str) -> None:
    """Run apt-get quietly; on failure the end of its output is the message."""
    done = subprocess.run(
        ["apt-get", "-o", "DPkg::Lock::Timeout=300", *words],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        last = next((line for line in reversed(done.stdout.splitlines()) if line.strip()), "no output")
        raise InstallFailed(f"apt-get {words[0]} ended with {done.returncode}: {last}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
