"""Dates in other languages and informal notations, by dateparser; and the parts of a sentence that look like
dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from smartspider.pipeline.notations.date_text import ParsedDate

COMMON_LANGUAGES = tuple(
    "en zh es fr de ru ja pt it ar ko pl nl tr sv cs uk vi id fa el hu ro da fi nb he th bg hr sk".split()
)
"""Tried if the task names none. Loading all known languages takes seconds."""
ALL = "all"
"""The name that stands for all languages."""
_LONGEST = 60
_MOST_WORDS = 3
_DIGITS = re.compile(r"\d+")
_DOTTED = re.compile(r"(?<![\d.])\d{1,2}\s?\.\s?\d{1,2}\s?\.\s?(?:\d{4}|\d\d)(?!\d)")
_LETTER = re.compile(r"[^\W\d_]")


def guess_dated(text: str, languages: Sequence[str] | None, order: str | None) -> ParsedDate | None:
    """Guess a date with day, month and year; `order` is that of day and month, `DMY` or `MDY`."""
    groups = len(_DIGITS.findall(text))
    if groups < 2 or not _is_worth_a_guess(text, groups):
        return None
    # Only English has months first, and never with points.
    order = "DMY" if languages is None and _DOTTED.search(text) else order
    return _parsed(text, languages, "absolute-time", _Parts(("day", "month", "year"), None, order))


def guess_relative(text: str, now: datetime, languages: Sequence[str] | None) -> ParsedDate | None:
    """Guess a date relative to `now`, or one without a year: the last such day."""
    if not _is_worth_a_guess(text, len(_DIGITS.findall(text))):
        return None
    parts = _Parts(("day", "month"), now.replace(tzinfo=None))
    relative = _parsed(text, languages, "relative-time", parts)
    if relative is not None and relative.has_time:
        return ParsedDate(relative.at.replace(tzinfo=now.tzinfo), has_time=True)
    return relative or _newest(_parsed(text, languages, "absolute-time", parts), now)


def _newest(date: ParsedDate | None, now: datetime) -> ParsedDate | None:
    """Return a date without a year as the last such day that is not after tomorrow."""
    if date is None or date.at.tzinfo is not None:
        return date
    try:
        later = date.at.replace(year=date.at.year + 1)
    except ValueError:  # February 29
        return date
    return date._replace(at=later) if later <= now.replace(tzinfo=None) + timedelta(days=1) else date


def unknown_languages(languages: Sequence[str]) -> list[str]:
    """Return the languages that dateparser does not know."""
    from dateparser.data.languages_info import language_order

    return [language for language in languages if language not in language_order and language != ALL]


def _is_worth_a_guess(text: str, groups: int) -> bool:
    """Filter texts: guessing tries many languages, and finds a date in almost any number, such as `1.5`."""
    if len(text) > _LONGEST:
        return False
    if _LETTER.search(text) is None:
        return groups >= 3
    return groups > 0 or len(text.split()) <= _MOST_WORDS


class _Parts(NamedTuple):
    """The parts of a date that a text must have, and where the others come from."""

    required: tuple[str, ...]
    now: datetime | None
    """Completes the date; None if nothing is to be completed."""
    order: str | None = None


def _parsed(text: str, languages: Sequence[str] | None, parser: str, parts: _Parts) -> ParsedDate | None:
    from dateparser.date import DateDataParser

    settings: dict[str, Any] = {
        "RETURN_TIME_AS_PERIOD": True,
        "REQUIRE_PARTS": list(parts.required),
        "PARSERS": [parser],
        **({"DATE_ORDER": parts.order} if parts.order else {}),
        **({"RELATIVE_BASE": parts.now, "PREFER_DATES_FROM": "past"} if parts.now else {}),
    }
    wanted = list(languages or COMMON_LANGUAGES)
    try:
        reader = DateDataParser(languages=None if ALL in wanted else wanted, settings=settings)
        data = reader.get_date_data(text)
    except Exception:  # noqa: BLE001 - a text that trips the library is not a date
        return None
    at: datetime | None = data.date_obj
    return None if at is None else ParsedDate(at, has_time=data.period == "time")


_LABEL = re.compile(
    r"(?:(?:(?:first|last|originally)\s+)?(?:posted|published|updated|modified|edited|created|added|released|"
    r"submitted|written|listed|joined|reviewed|date|time|on|at|since|opened|closed)\b[\s:,\u2013\u2014-]*"
    r"|(?:最后)?(?:发布|发表|更新|修改|创建|上传|發布|發表)?(?:于|於|时间|時間|日期)\s*:?\s*)+",
    re.IGNORECASE,
)
_CLOCK_WORDS = r"at|um|à|a las|às|kl\.?|alle|ore|om|o|u|в|@|\||,|-|\u2013"
_CLOCK_TIME = (
    rf"(?:[\s,]*(?:(?:{_CLOCK_WORDS})\s*)?\d{{1,2}}[:h.时点]\d{{2}}(?::\d{{2}})?"
    r"(?:\s*[ap]\.?\s?m\b\.?|\s*Uhr\b|\s*h\b)?(?:\s*(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d\d:?\d\d)\b)?)?"
)
_DAY = r"(?<!\d)\d{1,2}(?:st|nd|rd|th|er|\.|º|ª)?"
_WORD = r"[^\W\d_]{2,}\.?"
_YEAR = r"(?:19|20)\d\d(?!\d)(?:\s?\u0433\b\.?)?"  # 2021 and the Russian abbreviation of year
_SPAN = re.compile(
    rf"(?P<year_first>(?<!\d){_YEAR}\s*[-/.年]\s*\d{{1,2}}\s*[-/.月]\s*\d{{1,2}}(?!\d)[日号]?"
    r"(?:[T\s]*(?:上午|下午|晚上)?\s*\d{1,2}[:时点]\d{1,2}(?::\d{2}(?:\.\d+)?|分)?(?:\s?Z|\s?[+-]\d\d:?\d\d)?)?)"
    rf"|{_DAY}\s+(?:(?:de|of)\s+)?{_WORD},?\s+(?:(?:de|del)\s+)?{_YEAR}{_CLOCK_TIME}"
    rf"|{_WORD}\s+{_DAY},?\s+{_YEAR}{_CLOCK_TIME}"
    rf"|(?<![\d.])\d{{1,2}}([./-])\d{{1,2}}\2{_YEAR}{_CLOCK_TIME}",
    re.IGNORECASE,
)


def without_label(text: str) -> str:
    """Return a text without what says which date it is: `Published:`, `Last updated on`."""
    found = _LABEL.match(text)
    return text if found is None else text[found.end() :].strip()


def date_spans(text: str) -> Iterator[str]:
    """Yield the parts of a sentence that look like dates with a year."""
    return (found[0].strip() for found in _SPAN.finditer(text))
