"""Versions, extras and dependencies of the two distributions agree."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from smartspider import __version__
from smartspider.core.extras import DISTRIBUTION, PACKAGES

ROOT = Path(__file__).parents[3]
KIT = ROOT / "packages" / "smartspider-testing"


def project(folder: Path = ROOT) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


def test_the_product_is_distributed_by_the_name_that_hints_use() -> None:
    assert project()["name"] == DISTRIBUTION


def test_the_kit_is_of_the_same_version_as_the_product() -> None:
    kit = project(KIT)
    assert kit["version"] == __version__
    assert f"{DISTRIBUTION}[all]=={__version__}" in kit["dependencies"]


def test_every_extra_of_the_distribution_is_known_to_the_error_about_it() -> None:
    declared = project()["optional-dependencies"]
    assert set(declared) == {*PACKAGES, "all"}
    assert declared["all"] == [f"{DISTRIBUTION}[{','.join(PACKAGES)}]"]
    providers = metadata.packages_distributions()
    for extra, packages in PACKAGES.items():
        installed = {canonicalize_name(Requirement(one).name) for one in declared[extra]}
        for package in packages:
            assert installed & {canonicalize_name(name) for name in providers[package]}, package
