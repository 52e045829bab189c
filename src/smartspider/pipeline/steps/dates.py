"""`date`: convert dates and times to ISO 8601."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo

from smartspider.core.items.columns import ColumnKind
from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.notations.date_guess import (
    date_spans,
    guess_dated,
    guess_relative,
    unknown_languages,
    without_label,
)
from smartspider.pipeline.notations.date_order import numeric_pair, shown_order, spoken_order
from smartspider.pipeline.notations.date_relative import find_relative_date, parse_relative_date, past_day
from smartspider.pipeline.notations.date_text import ParsedDate, parse_absolute_date, parse_epoch
from smartspider.pipeline.steps.base import LOOKED_AT, Converter, require_short_text, type_name
from smartspider.plugins.options import InvalidOption

_REMEMBERED = 4096
_UNSURE = "unsure: the day or the month can come first; set 'formats' or 'languages'"
_MOST_WORDS = 16
"""The longest sentence in which a word such as `yesterday` is a date."""
_TIME = re.compile(r"%[-]?[HIMSpfcXTRz]")
_YEAR = re.compile(r"%[-]?[YyGcxD]")
_DAY = re.compile(r"%[-]?[djcxDueVUW]")
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")


class _ColumnOrder(NamedTuple):
    """The order of day and month in a column: `DMY`, `MDY`, or None if nothing tells."""

    order: str | None
    is_guess: bool


class DateStep(Converter):
    """Converts a text or an epoch number to ISO 8601; a date without a time stays a date (`2026-01-03`).

    Tried in order: `formats` (strptime); ISO 8601, year-first and Chinese notations; HTTP dates; a guess of a
    date with a year in `languages`, or in thirty common ones if neither these nor `formats` are given; the
    one such date in a sentence; dates relative to the fetch and without a year. `timezone` is the zone of
    times without one. Without `languages`, the other values of the column and the language of the page tell
    whether the day comes first in `03/01/2026`.
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
        self._column = _ColumnOrder(None, is_guess=False)
        self._of_columns: dict[_ColumnOrder, Self] = {}
        self._remember()

    def for_column(self, values: Sequence[Any], context: PageContext) -> Self:
        """Return the step for a column with these values; itself if none has two readings."""
        if self._languages or not self._guesses:
            return self
        texts = [value for value in values if type(value) is str and len(value) <= LOOKED_AT]
        pairs = {pair for text in texts if (pair := numeric_pair(text))}
        if not pairs:
            return self
        order = shown_order(pairs) or spoken_order(context.language)
        column = _ColumnOrder(order, is_guess=order is None)
        step = self._of_columns.get(column)
        if step is None:
            step = self._of_columns[column] = copy(self)
            step._column = column  # noqa: SLF001 - a copy of itself
            step._remember()  # noqa: SLF001 - a copy of itself
        return step

    def note(self, value: Any) -> str:
        """Return the remark about a date whose day and month may be the other way round; else empty."""
        if not self._column.is_guess or not isinstance(value, str) or len(value) > LOOKED_AT:
            return ""
        pair = numeric_pair(value)
        return _UNSURE if pair is not None and pair[0] != pair[1] else ""

    def apply(self, value: Any, context: PageContext) -> str:
        """Return the date, or the date and time."""
        if isinstance(value, str):
            text, at = require_short_text(value, "a date"), context.fetched_at
            found = (
                self._fixed(text) or self._recent(text, at) or self._dated(text) or self._undated(text, at)
            )
        elif isinstance(value, bool | list | dict):
            raise StepFailed(f"is {type_name(value)}, not a date")
        else:
            found = self._written(parse_epoch(value))
        if found is None:
            raise StepFailed("is not a date")
        return found

    def _remember(self) -> None:
        """Cache the results of each kind of notation; only some depend on the time of the fetch."""
        self._fixed = lru_cache(_REMEMBERED)(self._fixed_text)
        self._recent = lru_cache(_REMEMBERED)(self._recent_text)
        self._dated = lru_cache(_REMEMBERED)(self._dated_text)
        self._undated = lru_cache(_REMEMBERED)(self._undated_text)

    def _fixed_text(self, text: str) -> str | None:
        """Return a date in a plain notation."""
        text = text.strip()
        for form, has_time, has_year in self._formats:
            if has_year and (at := _by_format(text, form)):
                return self._written(ParsedDate(at, has_time))
        return self._written(parse_absolute_date(text) or parse_absolute_date(_plain(text)))

    def _recent_text(self, text: str, fetched_at: float) -> str | None:
        """Return a date relative to the fetch in a plain notation."""
        now = self._now(fetched_at)
        text = text.strip()
        for form, has_time, has_year in self._formats:
            if not has_year and (at := _by_format(f"{now.year} {text}", f"%Y {form}")):
                newest = past_day(at.month, at.day, now.replace(tzinfo=None))
                return self._written(ParsedDate(at.replace(year=newest.year), has_time))
        return self._written(parse_relative_date(_plain(text), now))

    def _dated_text(self, text: str) -> str | None:
        """Return a date with a year: the text, or the only one in it."""
        text = _plain(text)
        rest = without_label(text)
        found = self._guessed(rest) or (self._guessed(text) if rest != text else None)
        if found is None:
            dates = {date for span in date_spans(text) if (date := self._guessed(span))}
            found = dates.pop() if len(dates) == 1 else None
        return self._written(found)

    def _guessed(self, text: str) -> ParsedDate | None:
        found = parse_absolute_date(text)
        if found is None and self._guesses:
            found = guess_dated(text, self._languages, self._column.order)
        return found

    def _undated_text(self, text: str, fetched_at: float) -> str | None:
        """Return a date without a year or relative to the fetch: the text, or the only one in it."""
        now, text = self._now(fetched_at), _plain(text)
        found = None
        for part in dict.fromkeys((without_label(text), text)):
            found = found or parse_relative_date(part, now)
            if self._guesses:
                found = found or guess_relative(part, now, self._languages)
        if found is None and len(text.split()) <= _MOST_WORDS and not any(date_spans(text)):
            found = find_relative_date(text, now)
        return self._written(found)

    def _now(self, fetched_at: float) -> datetime:
        return datetime.fromtimestamp(fetched_at, self._zone or UTC)

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
