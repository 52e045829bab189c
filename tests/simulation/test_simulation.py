"""Many lives of a data folder, each with other faults; a seed that fails can be replayed by its number."""

from __future__ import annotations

from collections import Counter

import pytest

from smartspider_testing.simulation.faults import FAULTS
from smartspider_testing.simulation.runner import simulate

FAULT_NAMES = {fault.__name__ for fault in FAULTS}


def test_no_page_is_lost_no_row_doubled_no_host_hammered() -> None:
    faults: Counter[str] = Counter()
    problems = {}
    for seed in range(100):
        result = simulate(seed)
        faults.update(result.faults)
        if result.problems:
            problems[seed] = result.problems
    assert problems == {}, "replay with: python -m smartspider_testing.simulation.runner --seeds N"
    assert set(faults) == FAULT_NAMES
    assert min(faults.values()) > 30


def test_a_seed_is_the_same_life_every_time() -> None:
    assert simulate(11) == simulate(11)
    assert simulate(11) != simulate(12)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(10))
def test_thousands_of_lives(block: int) -> None:
    start = 1_000_000 + block * 1000
    problems = {seed: found for seed in range(start, start + 1000) if (found := simulate(seed).problems)}
    assert problems == {}, "replay with: python -m smartspider_testing.simulation.runner --seeds N"
