"""The paths of the servers' programs, and the packages that install them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from smartspider_testing.servers.errors import NotInstalled

OLDEST_REDIS = (7, 0)
OLDEST_POSTGRES = 15

PACKAGES = {
    "redis": ("redis-server", "redis-sentinel"),
    "postgres": ("postgresql",),
    "faketime": ("faketime",),
    "chromium": ("chromium-headless-shell",),
    "proxies": ("tinyproxy", "microsocks"),
}
"""Packages of Debian and Ubuntu, by purpose. Ubuntu has no Chromium as a package: any other one will do."""


def redis_server() -> str:
    """Return the path of a Redis server that has functions (7 or newer)."""
    path = _on_path("redis-server", "redis")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"v=(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_REDIS:
        wanted = ".".join(map(str, OLDEST_REDIS))
        raise NotInstalled(f"{path} is too old: Redis {wanted} or newer is needed, not {said.strip() or '?'}")
    return path


def openssl() -> str:
    """Return the path of openssl."""
    path = shutil.which("openssl")
    if path is None:
        raise NotInstalled("openssl is not installed; on Debian or Ubuntu: apt-get install openssl")
    return path


def redis_sentinel() -> str:
    """Return the path of Redis Sentinel."""
    return _on_path("redis-sentinel", "redis")


def postgres_folder() -> Path:
    """Return the folder with `postgres` and `initdb`, of the newest version."""
    found = {int(path.parent.parent.name): path.parent for path in _debian_postgres()}
    if found:
        version, folder = max(found.items())
    elif path := shutil.which("postgres"):
        folder = Path(path).resolve().parent
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        numbers = re.search(r"\d+", said)
        version = int(numbers[0]) if numbers else 0
    else:
        raise NotInstalled(_advice("PostgreSQL", "postgres"))
    if version < OLDEST_POSTGRES:
        raise NotInstalled(
            f"PostgreSQL in {folder} is too old: {OLDEST_POSTGRES} or newer is needed, not {version}"
        )
    return folder


def libfaketime() -> Path:
    """Return the library that gives a process a clock of its own."""
    for folder in (Path("/usr/lib"), Path("/usr/local/lib")):
        for pattern in ("*/faketime/libfaketimeMT.so.1", "faketime/libfaketimeMT.so.1"):
            if found := sorted(folder.glob(pattern)):
                return found[0]
    raise NotInstalled(_advice("libfaketime", "faketime"))


def chromium() -> str:
    """Return the path of a browser. The one without windows needs a third of the CPU time."""
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise NotInstalled(_advice("chromium-headless-shell", "chromium"))


def tinyproxy() -> str:
    """Return the path of tinyproxy, an HTTP proxy."""
    return _on_path("tinyproxy", "proxies")


def microsocks() -> str:
    """Return the path of microsocks, a SOCKS 5 proxy."""
    return _on_path("microsocks", "proxies")


def setpriv() -> str:
    """Return the path of setpriv, which ends a server with its parent and runs it as another user."""
    path = shutil.which("setpriv")
    if path is None:
        raise NotInstalled("setpriv is not on PATH; it is part of util-linux")
    return path


def missing(names: Iterable[str]) -> dict[str, str]:
    """Return the `PACKAGES` that are missing or too old, with the reason."""
    reasons: dict[str, str] = {}
    for name in names:
        try:
            for find in _FINDS[name]:
                find()
        except NotInstalled as reason:
            reasons[name] = str(reason)
    return reasons


def _debian_postgres() -> list[Path]:
    found = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    return [path for path in found if path.parent.parent.name.isdecimal()]


def _on_path(program: str, name: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise NotInstalled(_advice(program, name))
    return path


def _advice(program: str, name: str) -> str:
    return f"{program} is not installed; on Debian or Ubuntu: apt-get install {' '.join(PACKAGES[name])}"


_FINDS: dict[str, tuple[Callable[[], object], ...]] = {
    "redis": (redis_server, redis_sentinel),
    "postgres": (postgres_folder,),
    "faketime": (libfaketime,),
    "chromium": (chromium,),
    "proxies": (tinyproxy, microsocks),
}
