from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.acceptance.workshop import Workshop

Figures = Callable[[str], None]
_SEEN: list[str] = []


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    place = Workshop(tmp_path / "here")
    yield place
    place.close()


@pytest.fixture
def figures(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Figures:
    """Keeps a measured figure for the report of the test run."""

    def keep(text: str) -> None:
        record_property("figures", text)
        _SEEN.append(f"{request.node.name}: {text}")

    return keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _SEEN:
        terminalreporter.section("figures")
        for line in _SEEN:
            terminalreporter.line(line)
