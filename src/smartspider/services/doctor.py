"""Checks of the local environment for `smartspider doctor`."""

from __future__ import annotations

import re
import resource
import shutil
import sys
from importlib import metadata
from pathlib import Path

import msgspec

from smartspider.plugins.kinds import KINDS
from smartspider.plugins.registry import installed

PRODUCT = "smartspider-crawler"
NOT_INSTALLED = "not installed: run `pip install smartspider-crawler`"
MIN_FREE = 500_000_000
MIN_FILES = 1024
SAFE_SQLITE = 3_051_003
"""Older versions can corrupt the write-ahead log when two connections write."""


class DoctorCheck(msgspec.Struct, frozen=True):
    """The result of one check."""

    what: str
    is_ok: bool
    detail: str


def check_installation(product: str = PRODUCT, *, folder: Path | None = None) -> list[DoctorCheck]:
    """Check Python, the packages that `product` requires, the plug-ins of installed packages, SQLite, process
    limits, and the free space on the disk of a folder, by default the current one.
    """
    machine = [_sqlite(), _disk(folder or Path.cwd()), _files()]
    return [_python(), *_packages(product), *_plugins(), *machine]


def _python() -> DoctorCheck:
    version = ".".join(map(str, sys.version_info[:3]))
    return DoctorCheck("python", sys.version_info >= (3, 11), version)


def _packages(product: str) -> list[DoctorCheck]:
    """Check the requirements of the installed package, without extras."""
    try:
        needed = metadata.requires(product) or []
    except metadata.PackageNotFoundError:
        return [DoctorCheck(product, is_ok=False, detail=NOT_INSTALLED)]
    return [_package(requirement) for requirement in needed if "extra ==" not in requirement]


def _package(requirement: str) -> DoctorCheck:
    """Check one requirement, `name>=1.2; marker`."""
    what, _, where = requirement.partition(";")
    name = re.split(r"[^\w.-]", what.strip(), maxsplit=1)[0]
    try:
        return DoctorCheck(name, is_ok=True, detail=metadata.version(name))
    except metadata.PackageNotFoundError:
        if where:
            return DoctorCheck(name, is_ok=True, detail=f"not installed; needed where {where.strip()}")
        return DoctorCheck(name, is_ok=False, detail=NOT_INSTALLED)


def _plugins() -> list[DoctorCheck]:
    return [
        DoctorCheck(
            f"{plugin.kind} {plugin.name}",
            is_ok=not plugin.problem,
            detail=f"{plugin.origin}: {plugin.problem}" if plugin.problem else plugin.origin,
        )
        for kind in KINDS
        for plugin in installed(kind)
    ]


def _sqlite() -> DoctorCheck:
    import apsw

    return DoctorCheck("sqlite", apsw.SQLITE_VERSION_NUMBER >= SAFE_SQLITE, apsw.sqlite_lib_version())


def _disk(folder: Path) -> DoctorCheck:
    free = shutil.disk_usage(folder).free
    return DoctorCheck("free disk", free >= MIN_FREE, f"{free / 1e9:.1f} GB")


def _files() -> DoctorCheck:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return DoctorCheck("open files", limit >= MIN_FILES, f"limit {limit}")
