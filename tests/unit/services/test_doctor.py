"""Whether an installation is well."""

from __future__ import annotations

from importlib import metadata

import pytest

from smartspider.services.doctor import DoctorCheck, check_installation


def test_this_installation_is_well() -> None:
    checks = check_installation()
    assert [check for check in checks if not check.is_ok] == []
    assert {"python", "sqlite", "free disk", "open files"} <= {check.what for check in checks}


def test_the_packages_are_those_the_product_asks_for() -> None:
    names = {check.what for check in check_installation()}
    assert {"aiohttp", "charset-normalizer", "ada-url", "uvloop"} <= names
    assert not names & {"pytest", "hypothesis"}, "extras are not needed"


def test_a_missing_package_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is installed is the machine's
    monkeypatch.setattr(metadata, "requires", lambda _: ["no-such-package>=4.0"])
    missing = DoctorCheck(
        "no-such-package", is_ok=False, detail="not installed: run `pip install smartspider-crawler`"
    )
    assert missing in check_installation()


def test_a_package_that_is_needed_only_elsewhere_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is installed is the machine's
    monkeypatch.setattr(metadata, "requires", lambda _: ["no-such-package>=4; sys_platform == 'plan9'"])
    missing = DoctorCheck(
        "no-such-package", is_ok=True, detail="not installed; needed where sys_platform == 'plan9'"
    )
    assert missing in check_installation()


def test_a_product_that_is_not_installed_is_told() -> None:
    found = DoctorCheck(
        "no-such-product", is_ok=False, detail="not installed: run `pip install smartspider-crawler`"
    )
    assert found in check_installation("no-such-product")
