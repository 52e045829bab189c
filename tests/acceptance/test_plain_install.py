"""The wheel, and an installation without any extra."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from smartspider import __version__
from smartspider_testing.waiting import WAIT_S

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.acceptance

CLUSTER = {
    "SMARTSPIDER_STORE_URL": "postgresql://127.0.0.1/a",
    "SMARTSPIDER_FRONTIER_URL": "redis://127.0.0.1:1",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and its required packages, without any extra."""
    venv = tmp_path_factory.mktemp("plain")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    for name in required(set(), plain_requirements(wheel)):
        link(metadata.distribution(name), packages)
    return venv / "bin" / "python"


def plain_requirements(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        listed = email.message_from_bytes(archive.read(name)).get_all("Requires-Dist")
    return [one for one in listed or [] if _is_needed(one, set())]


def required(found: set[str], requirements: list[str]) -> set[str]:
    """Return the names of all distributions that the requirements need here, directly or not."""
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        extras = requirement.extras or {""}
        applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in extras)
        if applies and name not in found:
            found.add(name)
            needed = [one for one in metadata.requires(name) or [] if _is_needed(one, requirement.extras)]
            required(found, needed)
    return found


def _is_needed(requirement: str, extras: set[str]) -> bool:
    marker = Requirement(requirement).marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def link(distribution: metadata.Distribution, packages: Path) -> None:
    """Make an installed distribution importable from another folder."""
    tops = {Path(file).parts[0] for file in distribution.files or [] if not str(file).startswith("..")}
    for top in tops - {"__pycache__"}:
        place = packages / top
        if not place.exists():
            place.symlink_to(str(distribution.locate_file(top)))


def run(python: Path, folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-m", "smartspider", *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **settings},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )


def test_the_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert wheel.name.startswith(f"smartspider_crawler-{__version__}-")
    tops = {name.split("/")[0] for name in names}
    assert tops == {"smartspider", f"smartspider_crawler-{__version__}.dist-info"}
    assert [name for name in names if re.search(r"testing|/tests?/|conftest", name)] == []
    assert any(name.endswith(".sql") for name in names)
    assert any(name.endswith(".lua") for name in names)


def test_a_plain_install_crawls(plain: Path, tmp_path: Path) -> None:
    done = run(plain, tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    exported = run(plain, tmp_path, "results", "export", "-o", "rows.csv")
    assert exported.returncode == 0, exported.stderr
    assert len((tmp_path / "rows.csv").read_text().splitlines()) > 10
    for suffix, extra in (("xlsx", "excel"), ("parquet", "parquet")):
        refused = run(plain, tmp_path, "results", "export", "-o", f"rows.{suffix}")
        assert refused.returncode == 2
        assert refused.stderr.splitlines()[1:] == [f'  try: pip install "smartspider-crawler[{extra}]"']


def test_cluster_settings_without_the_extra_name_the_install_command(plain: Path, tmp_path: Path) -> None:
    refused = run(plain, tmp_path, "run", "list", **CLUSTER)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[1:] == ['  try: pip install "smartspider-crawler[cluster]"']


@pytest.mark.parametrize(
    ("arguments", "requirement"),
    [
        (("api", "--port", "0"), "smartspider-crawler[server]"),
        (("up", "--port", "0"), "smartspider-crawler[server]"),
        (("move", "--store", "postgresql://a/b", "--to", "redis://a"), "smartspider-crawler[cluster]"),
        (("chaos", "--list"), "smartspider-testing"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_a_command_whose_extra_is_missing_names_the_install_command(
    plain: Path, tmp_path: Path, arguments: tuple[str, ...], requirement: str
) -> None:
    refused = run(plain, tmp_path, *arguments)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[1:] == [f'  try: pip install "{requirement}"']
