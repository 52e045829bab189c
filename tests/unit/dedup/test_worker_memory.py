"""What one worker remembers of all its runs."""

from __future__ import annotations

from smartspider.dedup.memory import FINGERPRINT_BYTES, WorkerMemory
from smartspider_testing.contracts.url_filter import fingerprints


def test_runs_are_apart_and_the_same_run_is_found_again() -> None:
    local = WorkerMemory()
    one, two = fingerprints(0, 2)
    local.for_run(1).add(one)
    local.for_run(2).add(two)
    assert one in local.for_run(1)
    assert two not in local.for_run(1)


def test_all_runs_together_stay_within_the_bytes() -> None:
    budget = 2000 * FINGERPRINT_BYTES
    local = WorkerMemory(budget)
    for run_id in range(5):
        local.for_run(run_id).update(fingerprints(0, 3000))
    for run_id in range(5):
        local.for_run(run_id).update(fingerprints(0, 3000))
    assert local.bytes_used <= budget
    assert all(len(local.for_run(run_id)) >= 200 for run_id in range(5))


def test_runs_that_are_over_are_forgotten() -> None:
    local = WorkerMemory()
    local.for_run(1).update(fingerprints(0, 10))
    local.for_run(2).update(fingerprints(0, 10))
    local.retain([2])
    assert local.bytes_used == 10 * FINGERPRINT_BYTES
    assert len(local.for_run(1)) == 0


def test_what_is_asked_for_is_kept_longer() -> None:
    local = WorkerMemory(200 * FINGERPRINT_BYTES)
    known = local.for_run(1)
    usual = fingerprints(0, 1)[0]
    known.add(usual)
    for start in range(10, 2000, 50):
        known.update(fingerprints(start, start + 50))
        assert usual in known
