from __future__ import annotations

from typing import Any

import pytest

from smartspider.extract.sources.schema_org.things import number
from smartspider.extract.sources.values import to_iso_date, to_utc_date


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-01-03", "2026-01-03"),
        ("20260103", "2026-01-03"),
        (" 2026-01-03T14:05:00+08:00 ", "2026-01-03T14:05:00+08:00"),
        ("2026-01-03T14:05:00Z", "2026-01-03T14:05:00+00:00"),
        ("2026-01-03T14:05:00.1234567Z", "2026-01-03T14:05:00.123456+00:00"),
        ("2026-01-03 14:05:00 +0800", "2026-01-03T14:05:00+08:00"),
        ("Sat, 03 Jan 2026 14:05:00 +0800", "2026-01-03T14:05:00+08:00"),
        ("3 Jan 2026 10:00:00 GMT", "2026-01-03T10:00:00+00:00"),
        ("2026年1月3日 14:05", "2026-01-03T14:05:00"),
        ("2026年01月03日", "2026-01-03"),
        ("2026/1/3 4:05", "2026-01-03T04:05:00"),
        ("2026-13-01", None),
        ("2026-02-30", None),
        ("yesterday", None),
        ("1767423600", None),
        ("", None),
        ("2" * 5_000, None),
        (17, None),
    ],
)
def test_dates_become_iso_with_a_zone_where_they_have_one(text: Any, iso: str | None) -> None:
    assert to_iso_date(text) == iso


def test_moments_of_feeds_are_in_utc() -> None:
    assert to_utc_date("Sat, 03 Jan 2026 02:05:00 +0800") == "2026-01-02T18:05:00+00:00"
    assert to_utc_date("2026-01-03") == "2026-01-03T00:00:00+00:00"
    assert to_utc_date("0001-01-01T00:00:00+14:00") is None


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (12, 12),
        (12.5, 12.5),
        ("12", 12),
        ("12.50", 12.5),
        ("12,50", 12.5),
        ("1,234.50", 1234.5),
        ("1.234,50", 1234.5),
        ("1,234", 1234),
        ("1.234.567", 1_234_567),
        ("€ 1 299,00", 1299.0),
        ("¥1,299", 1299),
        ("-4", -4),
        (["7", "8"], 7),
        ("free", None),
        ("", None),
        (True, None),
        (None, None),
        (float("inf"), None),
        (1e300, None),
        ("9" * 60, None),
        ({}, None),
    ],
)
def test_prices_are_read_in_either_spelling(value: Any, result: float | None) -> None:
    assert number(value) == result
    assert type(number(value)) is type(result)
