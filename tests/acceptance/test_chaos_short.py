"""The short form of `smartspider chaos`: a real cluster, broken in the ways that are quick to try."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.conftest import Figures

from smartspider_testing.chaos.fault import Fault
from smartspider_testing.chaos.faults import FAULTS
from smartspider_testing.chaos.runner import ScaleOverrides, run_fault, select_faults

pytestmark = [pytest.mark.acceptance, pytest.mark.alone, pytest.mark.timeout(180)]


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all faults: they share the initialised PostgreSQL."""
    return tmp_path_factory.mktemp("chaos")


@pytest.mark.parametrize("fault", select_faults(FAULTS, (), is_short=True), ids=lambda fault: fault.name)
def test_nothing_is_lost_doubled_or_hurried(fault: Fault, root: Path, figures: Figures) -> None:
    result = run_fault(fault, root, ScaleOverrides())
    figures("  ".join(result.cells) + f"  {'; '.join(result.notes)}")
    assert result.problems == []
    assert result.skipped == ""
