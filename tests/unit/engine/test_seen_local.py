"""What one worker remembers of all its runs."""

from __future__ import annotations

from smartspider.engine.known import FINGERPRINT_BYTES, LocalSeen
from smartspider_testing.contracts.seen import fingerprints


def test_runs_are_apart_and_the_same_run_is_found_again() -> None:
    local = LocalSeen()
    one, two = fingerprints(0, 2)
    local.of(1).add(one)
    local.of(2).add(two)
    assert one in local.of(1)
    assert two not in local.of(1)


def test_another_epoch_forgets_also_for_those_who_hold_it() -> None:
    local = LocalSeen()
    known = local.of(1, "a")
    known.update(fingerprints(0, 10))
    local.of(1, "a")
    assert len(known) == 10
    local.of(2, "b")
    assert len(known) == 0
    assert local.of(1, "b") is known


def test_all_runs_together_stay_within_the_bytes() -> None:
    budget = 2000 * FINGERPRINT_BYTES
    local = LocalSeen(budget)
    for run_id in range(5):
        local.of(run_id).update(fingerprints(0, 3000))
    for run_id in range(5):
        local.of(run_id).update(fingerprints(0, 3000))
    assert local.bytes_used <= budget
    assert all(len(local.of(run_id)) >= 200 for run_id in range(5))


def test_runs_that_are_over_are_forgotten() -> None:
    local = LocalSeen()
    local.of(1).update(fingerprints(0, 10))
    local.of(2).update(fingerprints(0, 10))
    local.keep([2])
    assert local.bytes_used == 10 * FINGERPRINT_BYTES
    assert len(local.of(1)) == 0


def test_what_is_asked_for_is_kept_longer() -> None:
    local = LocalSeen(200 * FINGERPRINT_BYTES)
    known = local.of(1)
    usual = fingerprints(0, 1)[0]
    known.add(usual)
    for start in range(10, 2000, 50):
        known.update(fingerprints(start, start + 50))
        assert usual in known
