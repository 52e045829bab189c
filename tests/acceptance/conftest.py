from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.server import ENVIRONMENT
from tests.acceptance.workshop import Workshop

from smartspider_testing.servers import RedisServer

Figures = Callable[[str], None]


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    place = Workshop(tmp_path / "here")
    yield place
    place.close()


@pytest.fixture
def cluster(empty_database: str, empty_redis: RedisServer) -> Mapping[str, str]:
    """The settings of every process of a cluster."""
    return {
        "SMARTSPIDER_STORE_URL": empty_database,
        "SMARTSPIDER_FRONTIER_URL": empty_redis.url,
        "SMARTSPIDER_MASTER_KEY": "the same on all machines",
        **ENVIRONMENT,
    }


@pytest.fixture
def figures(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Figures:
    """Keeps a measured figure for the report of the test run."""

    def keep(text: str) -> None:
        record_property("figures", f"{request.node.name}: {text}")

    return keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the figures of all tests, also of those that ran in another process."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.stats.get(key, [])]
    lines = [text for report in reports for name, text in report.user_properties if name == "figures"]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.line(line)
