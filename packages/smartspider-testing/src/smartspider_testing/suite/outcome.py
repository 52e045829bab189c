"""Writes the outcome of a run to a file, for the program that started it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest


class Outcome(msgspec.Struct, forbid_unknown_fields=True):
    """The outcome of a run. Tests that fail are listed once; `crashed` are those that ended their process."""

    passed: int = 0
    failed: list[str] = []
    crashed: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--outcome", type=Path, default=None, help="write the outcome to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the outcome where the reports of all tests arrive."""
    path = config.getoption("outcome")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(OutcomeFile(path), "outcome-file")


class OutcomeFile:
    """Is written when the run ends, and only then."""

    def __init__(self, path: Path) -> None:
        self._path, self._outcome = path, Outcome()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a part of a test."""
        outcome = self._outcome
        if report.when not in ("setup", "call", "teardown"):
            outcome.crashed.append(report.nodeid)
        elif report.failed and report.nodeid not in outcome.failed:
            outcome.failed.append(report.nodeid)
        elif report.passed and report.when == "call":
            outcome.passed += 1

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._path.write_bytes(msgspec.json.encode(self._outcome))


def read_outcome(path: Path) -> Outcome | None:
    """Return the outcome; None if the run did not come to its end."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Outcome)
    except FileNotFoundError:
        return None
