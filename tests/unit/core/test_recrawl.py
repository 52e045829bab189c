"""When a page is fetched again."""

from __future__ import annotations

import pytest

from smartspider.core.requests.recrawl import LastVisit, RecrawlPolicy

HOUR, DAY = 3_600.0, 86_400.0
NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("ago_s", "ago"),
    [
        (0.0, "less than a minute ago"),
        (-5.0, "less than a minute ago"),
        (60.0, "1 minute ago"),
        (7_000.0, "1 hour ago"),
        (2 * HOUR, "2 hours ago"),
        (2.9 * DAY, "2 days ago"),
    ],
)
def test_the_reason_says_when_and_by_which_run(ago_s: float, ago: str) -> None:
    reason = RecrawlPolicy(window_s=7 * DAY).skip_reason(LastVisit(7, NOW - ago_s), NOW)
    assert reason == f"window: fetched {ago} in run 7"


def test_a_page_is_due_when_its_window_ends() -> None:
    window = RecrawlPolicy(window_s=DAY)
    assert window.skip_reason(LastVisit(1, NOW - DAY + 0.1), NOW)
    assert window.skip_reason(LastVisit(1, NOW - DAY), NOW) == ""


def test_a_page_with_an_interval_says_when_it_is_due() -> None:
    adaptive = RecrawlPolicy(min_s=HOUR, max_s=DAY)
    reason = adaptive.skip_reason(LastVisit(3, NOW - HOUR, 2 * HOUR), NOW)
    assert reason == "recrawl: not due until 2023-11-14 23:13 UTC, fetched 1 hour ago in run 3"
    assert adaptive.skip_reason(LastVisit(3, NOW - 2 * HOUR, 2 * HOUR), NOW) == ""


def test_an_interval_stays_within_the_bounds_of_today() -> None:
    adaptive = RecrawlPolicy(min_s=HOUR, max_s=DAY)
    assert adaptive.skip_reason(LastVisit(3, NOW - DAY, 30 * DAY), NOW) == ""
    assert adaptive.skip_reason(LastVisit(3, NOW - HOUR / 2, 1.0), NOW)
    assert adaptive.skip_reason(LastVisit(3, NOW - HOUR / 2, None), NOW)


def test_without_settings_everything_is_due() -> None:
    assert not RecrawlPolicy().needs_history
    assert RecrawlPolicy(conditional=True).skip_reason(LastVisit(1, NOW), NOW) == ""


def test_the_interval_follows_the_changes_within_its_bounds() -> None:
    adaptive = RecrawlPolicy(min_s=HOUR, max_s=4 * HOUR)
    assert adaptive.next_interval_s(None, has_changed=True) == HOUR
    assert adaptive.next_interval_s(2 * HOUR, has_changed=False) == 3 * HOUR
    assert adaptive.next_interval_s(3 * HOUR, has_changed=False) == 4 * HOUR
    assert adaptive.next_interval_s(3 * HOUR, has_changed=True) == 1.5 * HOUR
    assert adaptive.next_interval_s(HOUR, has_changed=True) == HOUR
