"""Install the servers that tests and benchmarks start: `servers.py redis|postgres|faketime ...`.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smartspider_testing.servers.programs import PACKAGES, missing

PACKAGE_STATE = Path("/var/lib/dpkg")
POLICY = Path("/usr/sbin/policy-rc.d")
MARK = "# written by scripts/servers.py of SmartSpider for the time of one installation"
KEPT_POLICY = POLICY.with_name("policy-rc.d.kept-by-smartspider")


class InstallFailed(Exception):
    """Installation failed; the message is for the user."""


def main(arguments: list[str]) -> int:
    """Install the named servers; return 0 on success."""
    if not arguments or not set(arguments) <= set(PACKAGES):
        print(f"usage: servers.py {'|'.join(PACKAGES)} ...", file=sys.stderr)
        return 2
    if not missing(arguments):
        return 0
    try:
        install(arguments)
    except InstallFailed as failure:
        print(f"{'; '.join(missing(arguments).values())} ({failure})", file=sys.stderr)
        return 1
    return 0


def install(names: list[str]) -> None:
    """Install missing packages as root or with sudo, or raise with the reason."""
    if shutil.which("apt-get") is None or not PACKAGE_STATE.is_dir():
        raise InstallFailed("there is no apt-get here to do it")
    if os.geteuid() == 0:
        with sole_installer():
            install_as_root(names)
    else:
        install_by_sudo(names)
    if missing(names):
        raise InstallFailed("apt-get has done what it can")


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


def install_as_root(names: list[str]) -> None:
    """Install the packages that are still missing."""
    packages = [package for name in missing(names) for package in PACKAGES[name]]
    if not packages:
        return
    print(f"installing {', '.join(packages)} with apt-get ...", file=sys.stderr, flush=True)
    command = ("install", "--yes", "--no-install-recommends", *packages)
    with no_service_starts():
        try:
            apt_get(*command)
        except InstallFailed:  # the package lists are old or were never fetched
            apt_get("update")
            apt_get(*command)


@contextmanager
def sole_installer() -> Iterator[None]:
    """Hold a lock that keeps other instances of this script on this machine out."""
    folder = os.open(PACKAGE_STATE, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@contextmanager
def no_service_starts() -> Iterator[None]:
    """Prevent packages from starting services; restore the machine's own policy afterwards."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if os.path.lexists(KEPT_POLICY):  # an earlier run was killed
        KEPT_POLICY.replace(POLICY)
    if os.path.lexists(POLICY) and not is_ours(POLICY):
        POLICY.rename(KEPT_POLICY)
    try:
        # If this process is killed here, the remaining policy lets services start again.
        lines = ("#!/bin/sh", MARK, f"[ -d /proc/{os.getpid()} ] && exit 101", "exit 0", "")
        POLICY.write_text("\n".join(lines), encoding="ascii")
        POLICY.chmod(0o755)
        yield
    finally:
        POLICY.unlink(missing_ok=True)
        if os.path.lexists(KEPT_POLICY):
            KEPT_POLICY.rename(POLICY)


def is_ours(policy: Path) -> bool:
    """Return True if this file remains from an earlier, killed run."""
    try:
        return MARK in policy.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def apt_get(*words: str) -> None:
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
