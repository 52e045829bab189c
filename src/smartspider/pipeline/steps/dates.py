"""`date`: convert dates and times to ISO 8601."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.options import InvalidOption
from smartspider.pipeline.steps.base import Converter, require_short_text, type_name
from smartspider.pipeline.steps.date_guess import date_spans, guess_date, unknown_languages, without_label
from smartspider.pipeline.steps.date_relative import find_relative_date, parse_relative_date, past_day
from smartspider.pipeline.steps.date_text import ParsedDate, parse_absolute_date, parse_epoch

_REMEMBERED = 4096
_MOST_WORDS = 16
"""The longest sentence in which a word such as `yesterday` is a date."""
_TIME = re.compile(r"%[-]?[HIMSpfcXTRz]")
_YEAR = re.compile(r"%[-]?[YyGcxD]")
_DAY = re.compile(r"%[-]?[djcxDueVUW]")
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")


class DateStep(Converter):
    """Converts a text or an epoch number to ISO 8601; a date without a time stays a date (`2026-01-03`).

    Tried in order: `formats` (strptime); ISO 8601, year-first and Chinese notations; dates relative to the
    fetch; HTTP dates; then a guess in `languages`, or in thirty common ones if neither these nor `formats`
    are given; then the one date in a sentence. `timezone` is the zone of times without one.
    """

    kind: ColumnKind | None = "datetime"

    def __init__(
        self,
        *,
        formats: str | list[str] | None = None,
        timezone: str | None = None,
        languages: str | list[str] | None = None,
    ) -> None:
        self._formats = _formats([formats] if isinstance(formats, str) else formats or [])
        self._zone = None if timezone is None else _zone(timezone)
        self._languages = [languages] if isinstance(languages, str) else languages
        self._guesses = bool(languages) or not self._formats
        if self._languages and (unknown := unknown_languages(self._languages)):
            raise InvalidOption("languages", f"{unknown[0]!r} is not a known language", "like 'en' or 'zh'")
        self._fixed = lru_cache(_REMEMBERED)(self._fixed_text)
        self._moving = lru_cache(_REMEMBERED)(self._moving_text)

    def apply(self, value: Any, context: PageContext) -> str:
        """Return the date, or the date and time."""
        if isinstance(value, str):
            text = require_short_text(value, "a date")
            found = self._fixed(text) or self._moving(text, context.fetched_at)
        elif isinstance(value, bool | list | dict):
            raise StepFailed(f"is {type_name(value)}, not a date")
        else:
            found = self._written(parse_epoch(value))
        if found is None:
            raise StepFailed("is not a date")
        return found

    def _fixed_text(self, text: str) -> str | None:
        text = text.strip()
        for form, has_time, has_year in self._formats:
            if has_year and (at := _by_format(text, form)):
                return self._written(ParsedDate(at, has_time))
        return self._written(parse_absolute_date(text) or parse_absolute_date(_plain(text)))

    def _moving_text(self, text: str, fetched_at: float) -> str | None:
        now = datetime.fromtimestamp(fetched_at, self._zone or UTC)
        text = text.strip()
        for form, has_time, has_year in self._formats:
            if not has_year and (at := _by_format(f"{now.year} {text}", f"%Y {form}")):
                newest = past_day(at.month, at.day, now.replace(tzinfo=None))
                return self._written(ParsedDate(at.replace(year=newest.year), has_time))
        text = _plain(text)
        rest = without_label(text)
        found = parse_absolute_date(rest) or self._read(rest, now) if rest != text else None
        return self._written(found or self._read(text, now) or self._found_inside(text, now))

    def _read(self, text: str, now: datetime) -> ParsedDate | None:
        """Return the date that a text is."""
        found = parse_relative_date(text, now)
        if found is None and self._guesses:
            found = guess_date(text, now, self._languages)
        return found

    def _found_inside(self, text: str, now: datetime) -> ParsedDate | None:
        """Return the only date in a sentence."""
        dates = {
            date for span in date_spans(text) if (date := parse_absolute_date(span) or self._read(span, now))
        }
        if not dates and len(text.split()) <= _MOST_WORDS:
            return find_relative_date(text, now)
        return dates.pop() if len(dates) == 1 else None

    def _written(self, moment: ParsedDate | None) -> str | None:
        if moment is None:
            return None
        if not moment.has_time:
            return moment.at.date().isoformat()
        at = moment.at
        if self._zone is not None and at.tzinfo is None:
            at = at.replace(tzinfo=self._zone)
        elif self._zone is not None and moment.is_counted:
            at = at.astimezone(self._zone)
        return at.isoformat()


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _by_format(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - the zone comes later, or is not known
    except ValueError:
        return None


def _formats(formats: list[str]) -> tuple[tuple[str, bool, bool], ...]:
    """Check formats; return each with flags for a time and a year."""
    found = []
    for form in formats:
        has_year = _YEAR.search(form) is not None
        try:
            datetime.strptime("", form)  # noqa: DTZ007 - only to see whether the format means anything
        except (ValueError, re.error) as error:
            if "directive" in str(error) or "stray" in str(error) or not form:
                reason = f"{form!r} is not a date format: {error}"
                raise InvalidOption("formats", reason, "like '%d.%m.%Y %H:%M'") from error
        if not has_year and _DAY.search(form) is None:
            raise InvalidOption("formats", f"{form!r} has no day and no year", "like '%d.%m.%Y'")
        found.append((form, _TIME.search(form) is not None, has_year))
    return tuple(found)


def _zone(name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError) as error:
        hint = "an IANA name, like 'UTC' or 'Asia/Shanghai', or an offset, like '+08:00'"
        raise InvalidOption("timezone", f"{name!r} is not a time zone", hint) from error
