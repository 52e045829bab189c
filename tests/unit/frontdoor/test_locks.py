"""The lock files hold what pyproject.toml asks for, and nothing about where it comes from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
OWN = {"smartspider-crawler", "smartspider-testing"}
PIN = re.compile(r"^([a-z0-9.-]+)(?:\[[a-z,-]+\])?==([^ ]+)", re.MULTILINE)


def project(folder: str = ".") -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def pins(name: str) -> dict[str, str]:
    found = PIN.findall((ROOT / "requirements" / f"{name}.lock").read_text())
    return {canonicalize_name(package): version for package, version in found}


def wanted() -> dict[str, list[str]]:
    table = project()
    extras = [one for extra in table["project"]["optional-dependencies"].values() for one in extra]
    runtime = [*table["project"]["dependencies"], *extras, *table["build-system"]["requires"], "editables"]
    kit = project("packages/smartspider-testing")["project"]["dependencies"]
    groups = table["dependency-groups"]
    return {
        "installer": ["uv"],
        "runtime": runtime,
        "dev": [*runtime, *kit, *groups["dev"]],
        "bench": groups["bench"],
        "console": groups["console"],
    }


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_satisfies_pyproject(lock: Path) -> None:
    locked = pins(lock.stem)
    for requirement in map(Requirement, wanted()[lock.stem]):
        if requirement.name not in OWN:
            version = locked.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement} is not locked: run make lock"
            assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_no_place(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert not re.search(r"^(-|[^# ].* @ )", text, re.MULTILINE), "options and direct references name places"
    assert str(ROOT) not in text


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_package_is_locked_by_hash(lock: Path) -> None:
    blocks = re.split(r"^(?=[a-z0-9])", lock.read_text(), flags=re.MULTILINE)
    assert [block.split()[0] for block in blocks if block.strip() and "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_the_project_is_never_taken_from_a_registry(lock: Path) -> None:
    assert OWN.isdisjoint(pins(lock.stem))


def test_dev_holds_all_of_runtime_at_the_same_versions() -> None:
    assert pins("runtime").items() <= pins("dev").items()


def test_there_is_a_lock_for_every_purpose() -> None:
    assert {lock.stem for lock in LOCKS} == set(wanted())
