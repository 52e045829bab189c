"""When schedules are due."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smartspider.core.errors import RequestInvalid
from smartspider.core.schedules import ScheduleRule, starts_at
from smartspider.taskfile.load import parse_schedule
from smartspider.taskfile.timing import (
    MAX_BACKLOG,
    backlog,
    check_cron,
    check_timezone,
    next_time,
    next_times,
    parse_local_time,
    shortest_interval,
)

BERLIN = "Europe/Berlin"
MINUTELY = ScheduleRule(cron="* * * * *")


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def formatted(times: list[float]) -> list[str]:
    return [datetime.fromtimestamp(one, UTC).isoformat(timespec="minutes")[:16] for one in times]


@pytest.mark.parametrize(
    ("rule", "after", "expected"),
    [
        ({"cron": "0 6 * * *"}, "2026-01-01T00:00Z", ["2026-01-01T06:00", "2026-01-02T06:00"]),
        ({"cron": "@hourly"}, "2026-01-01T00:00Z", ["2026-01-01T01:00", "2026-01-01T02:00"]),
        ({"cron": "@DAILY"}, "2026-01-01T00:00Z", ["2026-01-02T00:00", "2026-01-03T00:00"]),
        ({"cron": "0 6 * * MON-FRI"}, "2026-01-02T07:00Z", ["2026-01-05T06:00", "2026-01-06T06:00"]),
        ({"cron": "0 0 L * *"}, "2026-02-01T00:00Z", ["2026-02-28T00:00", "2026-03-31T00:00"]),
        ({"cron": "0 0 29 2 *"}, "2026-01-01T00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        (
            {"cron": "0 6 * * *", "timezone": "Asia/Kolkata"},
            "2026-01-01T00:00Z",
            ["2026-01-01T00:30", "2026-01-02T00:30"],
        ),
        ({"every_s": 90.0}, "2026-01-01T00:00Z", ["2026-01-01T00:01", "2026-01-01T00:03"]),
        ({"at": at("2026-01-01T05:00Z")}, "2026-01-01T00:00Z", ["2026-01-01T05:00"]),
        ({"at": at("2026-01-01T05:00Z")}, "2026-01-01T05:00Z", []),
    ],
)
def test_a_rule_is_due_when_it_says(rule: dict[str, object], after: str, expected: list[str]) -> None:
    assert formatted(next_times(ScheduleRule(**rule), at(after), count=2)) == expected  # type: ignore[arg-type]


def test_a_time_in_the_spring_gap_is_made_up_for_when_the_gap_is_over() -> None:
    rule = ScheduleRule(cron="30 2 * * *", timezone=BERLIN)
    assert formatted(next_times(rule, at("2026-03-28T00:00Z"), count=3)) == [
        "2026-03-28T01:30",
        "2026-03-29T01:00",  # 03:00 summer time
        "2026-03-30T00:30",
    ]


def test_a_time_that_comes_twice_in_autumn_is_due_once() -> None:
    rule = ScheduleRule(cron="30 2 * * *", timezone=BERLIN)
    first = next_times(rule, at("2026-10-24T12:00Z"), count=2)
    assert formatted(first) == ["2026-10-25T00:30", "2026-10-26T01:30"]
    assert next_time(rule, at("2026-10-25T01:15Z")) == first[1]  # asked in the hour that comes again


def test_a_rule_with_stars_goes_by_real_time_through_both_changes() -> None:
    rule = ScheduleRule(cron="*/30 * * * *", timezone=BERLIN)
    for day in ("2026-03-29", "2026-10-25"):
        times = next_times(rule, at(f"{day}T00:00Z"), count=12)
        assert {later - earlier for earlier, later in pairwise(times)} == {1800.0}


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"])
@pytest.mark.parametrize("cron", ["15 2 * * *", "0 * * * *", "*/20 1-3 * * *", "5 0 1 * *", "10 30 2 * * *"])
@given(start=st.integers(at("2025-01-01T00:00Z").__int__(), at("2028-01-01T00:00Z").__int__()))
@settings(max_examples=8, deadline=None)
def test_times_only_grow_and_do_not_depend_on_when_they_are_asked_for(
    cron: str, zone: str, start: int
) -> None:
    rule = ScheduleRule(cron=cron, timezone=zone)
    times = next_times(rule, float(start), count=6)
    assert all(later > earlier for earlier, later in pairwise([float(start), *times]))
    for earlier, later in pairwise(times):
        assert next_time(rule, earlier) == later
        assert next_time(rule, (earlier + later) / 2) == later


@given(
    first=st.integers(at("2026-03-27T00:00Z").__int__(), at("2026-03-30T00:00Z").__int__()),
    hours=st.floats(0, 60),
    cron=st.sampled_from(["30 2 * * *", "*/20 * * * *", "0 1,2,3 * * *", "45 */2 * * *"]),
    moved=st.sampled_from([0, 210 * 86_400 + 3600]),
)
@settings(max_examples=80, deadline=None)
def test_the_last_of_missed_times_is_found_without_a_walk(
    first: int, hours: float, cron: str, moved: int
) -> None:
    rule = ScheduleRule(cron=cron, timezone=BERLIN)
    begin = next_time(rule, float(first + moved))
    assert begin is not None
    now = begin + hours * 3600
    walked = [begin, *(one for one in next_times(rule, begin, count=400) if one <= now)]
    found = backlog(1, rule, begin, now)
    assert (found.fire_at, found.passed) == (walked[-1], len(walked) - 1)
    assert found.next_at == next_time(rule, walked[-1])


def test_a_year_of_missed_minutes_is_dealt_with_at_once() -> None:
    first = at("2025-01-01T00:00Z")
    now = at("2026-01-01T00:00:30Z")
    found = backlog(1, MINUTELY, first, now)
    assert (found.fire_at, found.next_at) == (now - 30, now + 30)
    assert found.passed > 1000


def test_without_coalescing_missed_times_come_one_after_another() -> None:
    rule = ScheduleRule(cron="* * * * *", coalesce=False, misfire_s=600.0)
    first, now = at("2026-01-01T00:00Z"), at("2026-01-01T01:00:30Z")
    found = backlog(1, rule, first, now)
    assert formatted([found.fire_at]) == ["2026-01-01T00:51"]
    fired = [found.fire_at]
    while found.next_at is not None and found.next_at <= now:
        found = backlog(1, rule, found.next_at, now)
        assert found.passed == 0
        fired.append(found.fire_at)
    assert formatted(fired) == [f"2026-01-01T00:{minute}" for minute in range(51, 60)] + ["2026-01-01T01:00"]


def test_a_backlog_is_bounded() -> None:
    rule = ScheduleRule(every_s=10.0, coalesce=False, misfire_s=1e7)
    first = 1_700_000_000.0
    now = first + 86_400
    found = backlog(1, rule, first, now)
    assert (now - found.fire_at) / 10 == MAX_BACKLOG - 1


def test_an_interval_stays_on_its_grid_whatever_was_missed() -> None:
    rule = ScheduleRule(every_s=3600.0)
    found = backlog(1, rule, 1000.0, 1000.0 + 5.5 * 3600)
    assert found.fire_at == 1000.0 + 5 * 3600
    assert found.passed == 5
    assert found.next_at == 1000.0 + 6 * 3600
    assert next_time(rule, 5000.0) == 8600.0


def test_one_moment_is_due_once() -> None:
    found = backlog(1, ScheduleRule(at=1000.0), 1000.0, 5000.0)
    assert (found.fire_at, found.passed, found.next_at) == (1000.0, 0, None)


def test_what_has_not_come_with_its_jitter_is_left_for_later() -> None:
    rule = ScheduleRule(every_s=60.0, jitter_s=50.0)
    for number in range(20):
        first = 6000.0
        now = starts_at(number, first, 50.0)
        found = backlog(number, rule, first, now)
        assert found.fire_at == first
        later = backlog(number, rule, first, now + 600.0)
        assert starts_at(number, later.fire_at, 50.0) <= now + 600.0
        assert starts_at(number, later.next_at or 0.0, 50.0) > now + 600.0


def test_jitter_spreads_and_stays() -> None:
    moments = [starts_at(number, 1000.0, 60.0) for number in range(200)]
    assert moments == [starts_at(number, 1000.0, 60.0) for number in range(200)]
    assert all(1000.0 <= moment <= 1060.0 for moment in moments)
    assert max(moments) - min(moments) > 50
    assert starts_at(7, 1000.0, 0.0) == 1000.0


@pytest.mark.parametrize(
    "cron", ["* * * *", "@often", "60 * * * *", "* * * * MON#2/2", "? * * * *", "0 0 31 4 *", "*/0 * * * *"]
)
def test_what_is_no_cron_is_said_to_be_none(cron: str) -> None:
    assert check_cron(cron) is not None


def test_a_very_long_cron_is_refused() -> None:
    assert check_cron("1," * 5000 + "1 * * * *") is not None
    assert check_cron("9" * 150 + " * * * *") is not None


@pytest.mark.parametrize(
    "zone", ["", "Mars/Phobos", "../../etc/passwd", "/etc/passwd", "Europe", "x" * 500, "a\0b"]
)
def test_what_is_no_time_zone_is_said_to_be_none(zone: str) -> None:
    assert check_timezone(zone) is not None


def test_a_moment_without_a_zone_is_in_that_of_the_schedule() -> None:
    assert parse_local_time("2026-07-01T06:00:00", BERLIN) == at("2026-07-01T04:00Z")
    assert parse_local_time("2026-07-01T06:00:00Z", BERLIN) == at("2026-07-01T06:00Z")
    for wrong in ("tomorrow", "1969-01-01", "9999-12-31T23:59:59"):
        with pytest.raises(ValueError, match=r".+"):
            parse_local_time(wrong, BERLIN)


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({}, (300.0, True)),
        ({"misfire": "skip"}, (60.0, True)),
        ({"misfire": "once"}, (366 * 86_400.0, True)),
        ({"misfire": "all"}, (366 * 86_400.0, False)),
        ({"misfire": "all", "misfire_s": 10}, (10.0, False)),
        ({"coalesce": False}, (300.0, False)),
    ],
)
def test_words_for_misfires_stand_for_knobs(knobs: dict[str, object], expected: tuple[float, bool]) -> None:
    rule = parse_schedule({"cron": "@daily", **knobs})
    assert (rule.misfire_s, rule.coalesce) == expected


def test_overlap_is_a_word_or_a_switch() -> None:
    said = [parse_schedule({"cron": "@daily", "overlap": given}).overlap for given in (True, False, "queue")]
    assert said == ["allow", "skip", "queue"]


@pytest.mark.parametrize(
    ("knobs", "path"),
    [
        ({}, "cron"),
        ({"cron": "@daily", "every_s": 60.0}, "every_s"),
        ({"every_s": 0.5}, "every_s"),
        ({"at": "soon"}, "at"),
        ({"cron": "@daily", "timezone": "Mars"}, "timezone"),
        ({"cron": "1 2 3"}, "cron"),
        ({"cron": "@daily", "retries": 1000}, "retries"),
    ],
)
def test_what_a_schedule_cannot_be_is_named_by_its_key(knobs: dict[str, object], path: str) -> None:
    with pytest.raises(RequestInvalid) as caught:
        parse_schedule(knobs)
    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize(
    ("knobs", "interval_s"),
    [
        ({"every_s": 90.0}, 90.0),
        ({"at": "2090-01-01T00:00:00Z"}, math.inf),
        ({"cron": "* * * * *"}, 60.0),
        ({"cron": "@daily"}, 86_400.0),
        ({"cron": "0,3,10 * * * *"}, 180.0),
        ({"cron": "*/5 * * * * *"}, 5.0),
        ({"cron": "0,59 * * * * *"}, 1.0),
        ({"cron": "0,2 0 6 1 1 *"}, 2.0),
        ({"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, 86_400.0),
    ],
)
def test_the_shortest_time_between_two_starts_is_known(knobs: dict[str, object], interval_s: float) -> None:
    assert shortest_interval(parse_schedule(knobs)) == interval_s
