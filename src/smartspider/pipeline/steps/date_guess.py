"""Dates in other languages and informal notations, by dateparser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from smartspider.pipeline.steps.date_text import ParsedDate

COMMON_LANGUAGES = tuple(
    "en zh es fr de ru ja pt it ar ko pl nl tr sv cs uk vi id fa el hu ro da fi nb he th bg hr sk".split()
)
"""Tried if the task names none. Loading all known languages takes seconds."""
_LONGEST = 60
_MOST_WORDS = 3
_DIGITS = re.compile(r"\d+")
_YEAR = re.compile(r"\d{4}")
_LETTER = re.compile(r"[^\W\d_]")


def guess_date(text: str, now: datetime, languages: Sequence[str] | None) -> ParsedDate | None:
    """Guess the date of a text. A date without a year is the last one before `now`."""
    if not _is_worth_a_guess(text):
        return None
    if _YEAR.search(text) and (absolute := _parsed(text, now, languages, ["absolute-time"])):
        return absolute
    relative = _parsed(text, now, languages, ["relative-time"])
    if relative is not None and relative.has_time:
        return ParsedDate(relative.at.replace(tzinfo=now.tzinfo), has_time=True)
    return relative or _parsed(text, now, languages, ["absolute-time"])


def unknown_languages(languages: Sequence[str]) -> list[str]:
    """Return the languages that dateparser does not know."""
    from dateparser.data.languages_info import language_order

    return [language for language in languages if language not in language_order]


def _is_worth_a_guess(text: str) -> bool:
    """Filter texts: guessing tries many languages, and finds a date in almost any number, such as `1.5`."""
    if len(text) > _LONGEST:
        return False
    groups = len(_DIGITS.findall(text))
    if _LETTER.search(text) is None:
        return groups >= 3
    return groups > 0 or len(text.split()) <= _MOST_WORDS


def _parsed(
    text: str, now: datetime, languages: Sequence[str] | None, parsers: list[str]
) -> ParsedDate | None:
    from dateparser.date import DateDataParser

    settings: dict[str, Any] = {
        "RELATIVE_BASE": now.replace(tzinfo=None),
        "RETURN_TIME_AS_PERIOD": True,
        "PREFER_DATES_FROM": "past",
        "REQUIRE_PARTS": ["day", "month"],
        "PARSERS": parsers,
    }
    parser = DateDataParser(languages=list(languages or COMMON_LANGUAGES), settings=settings)
    try:
        data = parser.get_date_data(text)
    except Exception:  # noqa: BLE001 - a text that trips the library is not a date
        return None
    at: datetime | None = data.date_obj
    return None if at is None else ParsedDate(at, has_time=data.period == "time")
