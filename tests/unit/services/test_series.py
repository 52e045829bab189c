"""The series of a run in periods of equal length."""

from __future__ import annotations

from smartspider.services.runs.series import Progress, periods


def known(*moments: tuple[float, int]) -> list[tuple[float, Progress]]:
    return [(at, Progress(success_count=count, queued=100 - count)) for at, count in moments]


def test_periods_add_up_to_the_counters() -> None:
    found = periods(known((1.0, 3), (2.0, 7), (3.0, 7), (4.0, 20)), 0.0, 4.0, 2)
    assert [(one.success, one.queued, one.seconds) for one in found] == [(7, 93, 2.0), (13, 80, 2.0)]


def test_what_was_before_does_not_count() -> None:
    found = periods(known((1.0, 3), (6.0, 5), (8.0, 6)), 5.0, 10.0, 10)
    assert sum(one.success for one in found) == 3
    assert found[-1].queued == 94


def test_a_time_without_progress_counts_nothing() -> None:
    assert [one.success for one in periods(known((1.0, 3)), 2.0, 9.0, 2)] == [0, 0]
    assert periods([], 0.0, 9.0, 0) == []


def test_a_retry_makes_no_count_negative() -> None:
    failed = [(1.0, Progress(fail_count=5)), (2.0, Progress(fail_count=0)), (3.0, Progress(fail_count=1))]
    assert [one.failed for one in periods(failed, 0.0, 3.0, 3)] == [5, 0, 1]
