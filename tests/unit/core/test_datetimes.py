"""Parsing of dates and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from smartspider.core.datetimes import assume_utc, parse_iso_datetime


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T00:00:00", "2026-01-31T02:00+02:00", "20260131"])
def test_what_names_no_zone_is_utc(text: str) -> None:
    assert parse_iso_datetime(text) == datetime(2026, 1, 31, tzinfo=UTC)


def test_a_zone_that_is_named_stays() -> None:
    there = timezone(timedelta(hours=8))
    assert assume_utc(datetime(2026, 1, 31, tzinfo=there)).tzinfo is there


@pytest.mark.parametrize("text", ["", "yesterday", "31.01.2026"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid isoformat"):
        parse_iso_datetime(text)
