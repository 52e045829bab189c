"""Assignment of hosts to workers, and load shares."""

from __future__ import annotations

import pytest

from smartspider.core.workers.host_assignment import PARTITIONS, load_shares, owned_partitions, partition_of
from smartspider.core.workers.worker import WorkerHealth


def owners(weights: dict[int, float]) -> dict[int, int]:
    """The owner of each partition."""
    return {
        part: worker
        for worker in weights
        for part in range(PARTITIONS)
        if owned_partitions(worker, weights)[part // 8] >> part % 8 & 1
    }


def counts(weights: dict[int, float]) -> dict[int, int]:
    found = list(owners(weights).values())
    return {worker: found.count(worker) for worker in weights}


def test_every_partition_has_one_owner() -> None:
    weights = dict.fromkeys((3, 17, 40, 41), 1.0)
    assert sum(counts(weights).values()) == PARTITIONS
    assert len(owners(weights)) == PARTITIONS
    assert all(40 <= count <= 90 for count in counts(weights).values())


def test_joining_and_leaving_move_only_own_partitions() -> None:
    before, after = owners(dict.fromkeys((1, 2, 3), 1.0)), owners(dict.fromkeys((1, 2, 3, 4), 1.0))
    assert {after[part] for part in before if before[part] != after[part]} == {4}


def test_a_worker_of_less_weight_has_less_and_the_others_keep_theirs() -> None:
    even, uneven = dict.fromkeys((1, 2, 3, 4), 1.0), {1: 0.25, 2: 1.0, 3: 1.0, 4: 1.0}
    before, after = owners(even), owners(uneven)
    assert {before[part] for part in before if before[part] != after[part]} == {1}
    assert 0 < counts(uneven)[1] < counts(even)[1] / 2


def test_a_single_worker_owns_all_partitions() -> None:
    assert owned_partitions(7, {7: 1.0}) == owned_partitions(7, {}) == b"\xff" * 32
    assert owned_partitions(9, {7: 1.0}) == bytes(32)


def test_hosts_are_spread_over_the_partitions() -> None:
    parts = {partition_of(f"h{number}.example") for number in range(4_000)}
    assert len(parts) == PARTITIONS
    assert partition_of("a.example") == 0xF4


WELL = WorkerHealth(fault_share=0.02, lag_s=0.01)


def share_of(health: WorkerHealth, *others: WorkerHealth) -> float:
    return load_shares({0: health, **dict(enumerate(others, 1))})[0]


@pytest.mark.parametrize(
    ("health", "share"),
    [
        (WELL, 1.0),
        (WorkerHealth(fault_share=0.13), 1.0),
        (WorkerHealth(fault_share=0.2), 0.75),
        (WorkerHealth(fault_share=0.5), 0.5),
        (WorkerHealth(fault_share=1.0), 0.25),
        (WorkerHealth(lag_s=0.1), 1.0),
        (WorkerHealth(lag_s=0.2), 0.5),
        (WorkerHealth(lag_s=2.0), 0.25),
        (WorkerHealth(fault_share=0.2, lag_s=0.2), 0.5),
    ],
)
def test_a_worker_that_does_clearly_worse_than_the_others_reduces_its_load(
    health: WorkerHealth, share: float
) -> None:
    assert share_of(health, WELL, WELL, WELL) == share
    assert share_of(health, WELL) == share


def test_faults_of_all_workers_slow_none_down() -> None:
    failing, late = WorkerHealth(fault_share=0.9), WorkerHealth(lag_s=1.5)
    assert set(load_shares({1: failing, 2: failing, 3: WELL}).values()) == {1.0}
    assert share_of(late, late, WELL, late) == 1.0
    assert share_of(WorkerHealth(fault_share=1.0), WorkerHealth(fault_share=1.0)) == 1.0


def test_a_single_worker_uses_all_its_slots() -> None:
    assert load_shares({1: WorkerHealth(fault_share=1.0, lag_s=9.0)}) == {1: 1.0}
    assert load_shares({}) == {}
