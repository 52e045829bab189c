"""Dates become ISO 8601."""

# Full-width characters are meant as such.
# ruff: noqa: RUF001

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.dates import DateStep

One = Callable[..., Any]

FIXED: list[tuple[Any, str]] = [
    ("2026-01-03", "2026-01-03"),
    ("2026-01-03T14:05:06Z", "2026-01-03T14:05:06+00:00"),
    ("2026-01-03 14:05", "2026-01-03T14:05:00"),
    ("20260103", "2026-01-03"),
    ("20260103140506", "2026-01-03T14:05:06"),
    ("2026/1/3", "2026-01-03"),
    ("2026.1.3 4:05", "2026-01-03T04:05:00"),
    ("2026年1月3日", "2026-01-03"),
    ("2026年1月3日 14:05", "2026-01-03T14:05:00"),
    ("2026年01月03日 星期六 下午3时5分", "2026-01-03T15:05:00"),
    ("２０２６年１月３日", "2026-01-03"),
    ("2026-01-03 12:05 AM", "2026-01-03T00:05:00"),
    ("2026-01-03 12:05 pm", "2026-01-03T12:05:00"),
    ("Sat, 03 Jan 2026 14:05:00 GMT", "2026-01-03T14:05:00+00:00"),
    ("03 Jan 2026 14:05:00 +0200", "2026-01-03T14:05:00+02:00"),
    ("1767960000", "2026-01-09T12:00:00+00:00"),
    ("1767960000000", "2026-01-09T12:00:00+00:00"),
    (1767960000, "2026-01-09T12:00:00+00:00"),
    (1767960000000, "2026-01-09T12:00:00+00:00"),
    (0, "1970-01-01T00:00:00+00:00"),
]
SEEN_FROM_THE_FETCH: list[tuple[str, str]] = [
    ("刚刚", "2026-01-09T12:00:00+00:00"),
    ("just now", "2026-01-09T12:00:00+00:00"),
    ("3 hours ago", "2026-01-09T09:00:00+00:00"),
    ("5 min ago", "2026-01-09T11:55:00+00:00"),
    ("半小时前", "2026-01-09T11:30:00+00:00"),
    ("20分钟前", "2026-01-09T11:40:00+00:00"),
    ("3天前", "2026-01-06"),
    ("3 days ago", "2026-01-06"),
    ("2 weeks ago", "2025-12-26"),
    ("一个月前", "2025-12-09"),
    ("a year ago", "2025-01-09"),
    ("yesterday", "2026-01-08"),
    ("Today, 9:05", "2026-01-09T09:05:00"),
    ("yesterday at 5:30 PM", "2026-01-08T17:30:00"),
    ("昨天 12:30", "2026-01-08T12:30:00"),
    ("前天", "2026-01-07"),
    ("1月3日", "2026-01-03"),
    ("12月30日 08:00", "2025-12-30T08:00:00"),
]
GUESSED: list[tuple[str, str]] = [
    ("Jan 3, 2026 at 14:05", "2026-01-03T14:05:00"),
    ("3 janvier 2026", "2026-01-03"),
    ("31 Dec", "2025-12-31"),
    ("vor 3 Stunden", "2026-01-09T09:00:00+00:00"),
    ("gestern", "2026-01-08"),
    ("3.1.2026", "2026-01-03"),
    ("24.12.26", "2026-12-24"),
    ("12/24/26", "2026-12-24"),
    ("Sat 10 Jan", "2026-01-10"),
    ("Sun 11 Jan", "2025-01-11"),
]
SENTENCES: list[tuple[str, str]] = [
    ("Posted on August 5, 2015 at 10:00 am", "2015-08-05T10:00:00"),
    ("Published: 3 March 2021", "2021-03-03"),
    ("Posted on August 5", "2025-08-05"),
    ("by Ann on Jan 3, 2026 | 12 comments", "2026-01-03"),
    ("Last updated: 2021-03-03T10:00:00Z", "2021-03-03T10:00:00+00:00"),
    ("2021-03-03 by Ann", "2021-03-03"),
    ("Veröffentlicht am 3. März 2021 um 10:00 Uhr", "2021-03-03T10:00:00"),
    ("Publié le 3 mars 2021 à 14h40", "2021-03-03T14:40:00"),
    ("Publicado el 3 de marzo de 2021", "2021-03-03"),
    ("发布时间：2026-01-03 10:05", "2026-01-03T10:05:00"),
    ("本站记者发布于2026年1月3日上午10:05，转载请注明", "2026-01-03T10:05:00"),
    ("更新于3小时前", "2026-01-09T09:00:00+00:00"),
    ("Posted 3 hours ago by Ann", "2026-01-09T09:00:00+00:00"),
    ("Ann wrote this yesterday at noon", "2026-01-08T12:00:00"),
    ("about an hour ago", "2026-01-09T11:00:00+00:00"),
    ("the day before yesterday", "2026-01-07"),
    ("in about two hours", "2026-01-09T14:00:00+00:00"),
    ("in three weeks' time", "2026-01-30"),
    ("an hour from now", "2026-01-09T13:00:00+00:00"),
    ("Friday at 3:40 pm", "2026-01-02T15:40:00"),
    ("星期四", "2026-01-08"),
    ("上周五", "2026-01-02"),
    ("10:04am", "2026-01-09T10:04:00"),
]


@pytest.mark.parametrize(("text", "expected"), FIXED + SEEN_FROM_THE_FETCH + GUESSED + SENTENCES)
def test_a_date_is_read_as_it_is_meant(one: One, text: Any, expected: str) -> None:
    assert one("date", text) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "hello",
        "1.5",
        "12",
        "2026",
        "January 2026",
        "2026-13-45",
        "2026-02-30",
        "2026年2月30日",
        "2月30日",
        "999999999 years ago",
        "25:99",
        "x" * 300,
        "\ud800",
        True,
        [],
        {},
        float("nan"),
        float("inf"),
        10**30,
        1e15,
        "14:05",
        "From 3 March 2021 to 5 March 2021",
        "Posted on 3 March 2021, updated 3 hours and 2 days ago, then on 4 March 2021",
        "Chapter 3, 2021",
        "Room 12 has 3 beds",
        "opened yesterday, closes tomorrow",
        "published",
        "This text is far too long to be a date of any kind, in 2026",
    ],
)
def test_what_is_no_date_is_none(one: One, value: Any) -> None:
    assert isinstance(one("date", value), StepFailed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-03 14:05", "2026-01-03T14:05:00+08:00"),
        ("2026-01-03", "2026-01-03"),
        ("2026-01-03T14:05:06Z", "2026-01-03T14:05:06+00:00"),
        ("1767960000", "2026-01-09T20:00:00+08:00"),
        ("3 hours ago", "2026-01-09T17:00:00+08:00"),
        ("昨天 12:30", "2026-01-08T12:30:00+08:00"),
        ("Jan 3, 2026 at 14:05", "2026-01-03T14:05:00+08:00"),
    ],
)
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "+08:00"])
def test_a_time_without_a_zone_is_in_the_zone_of_the_task(
    one: One, text: str, expected: str, zone: str
) -> None:
    assert one("date", text, timezone=zone) == expected


def test_a_day_is_a_day_of_the_zone() -> None:
    just_before_midnight = PageContext("", "", 1767999600.0)  # 23:00 UTC on the 9th
    assert DateStep().apply("yesterday", just_before_midnight) == "2026-01-08"
    assert DateStep(timezone="Asia/Shanghai").apply("yesterday", just_before_midnight) == "2026-01-09"


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("%d.%m.%Y", "03.01.2026", "2026-01-03"),
        ("%d.%m.%Y %H:%M", "03.01.2026 14:05", "2026-01-03T14:05:00"),
        ("%d/%m/%y", "03/01/26", "2026-01-03"),
        ("%d.%m. %H:%M", "31.12. 14:05", "2025-12-31T14:05:00"),
        ("%d.%m.", "29.02.", None),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-01-03T14:05:06+0100", "2026-01-03T14:05:06+01:00"),
    ],
)
def test_a_format_of_the_task_comes_first(one: One, form: str, text: str, expected: str | None) -> None:
    found = one("date", text, formats=form)
    assert found == expected or (expected is None and isinstance(found, StepFailed))


def test_with_formats_nothing_is_guessed_unless_languages_are_named(one: One) -> None:
    assert isinstance(one("date", "3 Jan 2026", formats=["%d.%m.%Y"]), StepFailed)
    assert one("date", "3 Jan 2026", formats=["%d.%m.%Y"], languages=["en"]) == "2026-01-03"
    assert one("date", "2026-01-03", formats=["%d.%m.%Y"]) == "2026-01-03"


def test_all_languages_are_tried_on_request(one: One) -> None:
    assert isinstance(one("date", "बुधवार 24 मई 1997 12:09"), StepFailed)
    assert one("date", "बुधवार 24 मई 1997 12:09", languages=["all"]) == "1997-05-24T12:09:00"
    assert one("date", "बुधवार 24 मई 1997 12:09", languages="all") == "1997-05-24T12:09:00"


def test_languages_decide_about_the_order_of_day_and_month(one: One) -> None:
    assert one("date", "10.11.2025", languages=["de"]) == "2025-11-10"
    assert one("date", "10/11/2025", languages=["en"]) == "2025-10-11"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["03/01/2026", "25/01/2026"], ["2026-01-03", "2026-01-25"]),
        (["03/01/2026", "01/25/2026"], ["2026-03-01", "2026-01-25"]),
        (["03-01-2026", "Posted 25-01-2026"], ["2026-01-03", "2026-01-25"]),
        (["03/01/26 10:05", "25/01/26"], ["2026-01-03T10:05:00", "2026-01-25"]),
        (["03/01/2026", "25/01/2026", "01/25/2026"], ["2026-03-01", "2026-01-25", "2026-01-25"]),
        (["03/01/2026", "2026-01-25"], ["2026-03-01", "2026-01-25"]),
    ],
)
def test_the_other_dates_of_a_field_show_whether_the_day_comes_first(
    run: Any, texts: list[str], expected: list[str]
) -> None:
    done = run(["date"], *[{"at": text} for text in texts])
    assert [item["at"] for item in done.items] == expected
    done = run([{"use": "date", "languages": ["en"]}], *[{"at": text} for text in texts])
    assert done.items[0]["at"].startswith("2026-03-01")


@pytest.mark.parametrize(
    ("language", "expected", "is_unsure"),
    [
        ("de", "2026-01-03", False),
        ("en-GB", "2026-01-03", False),
        ("en-US", "2026-03-01", False),
        ("en", "2026-03-01", True),
        (None, "2026-03-01", True),
    ],
)
def test_the_language_of_the_page_says_whether_the_day_comes_first(
    language: str | None, expected: str, is_unsure: bool
) -> None:
    context = PageContext("", "", 1767960000.0, language)
    step = DateStep().for_column(["03/01/2026"], context)
    assert step.apply("03/01/2026", context) == expected
    assert bool(step.note("03/01/2026")) is is_unsure


def test_an_order_that_is_a_guess_is_counted_and_noted(run: Any) -> None:
    done = run(["date"], {"at": "03/01/2026"}, {"at": "02/02/2026"}, {"at": "2026-01-03"}, logs=True)
    assert done.counts["pipeline[0] date"].unsure == 1
    assert [change.note.partition(":")[0] for change in done.changes] == ["unsure", ""]


@given(st.datetimes(timezones=st.none() | st.timezones()).map(lambda at: at.replace(fold=0)))
def test_what_it_wrote_it_reads(at: Any) -> None:
    step, now = DateStep(), PageContext("", "", 1767960000.0)
    offset = at.utcoffset()
    if offset is not None and offset.total_seconds() % 60:
        return  # ISO 8601 has no seconds in an offset
    once = step.apply(at.isoformat(), now)
    assert step.apply(once, now) == once
