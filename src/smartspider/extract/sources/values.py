"""Convert values of sources: URLs, dates, plain text."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from smartspider.core.datetimes import parse_iso_datetime
from smartspider.core.requests.urls import normal_url
from smartspider.extract.parsing.document import Document
from smartspider.extract.parsing.text import collapse, text_of

_LONGEST_URL = 8_192


def to_absolute_url(url: Any, base: str) -> str | None:
    """Return an absolute http(s) URL, or None."""
    if not isinstance(url, str):
        return None
    url = url.strip()
    if not url or len(url) > _LONGEST_URL:
        return None
    absolute = normal_url(url, base)
    return absolute if absolute is not None and len(absolute) <= _LONGEST_URL else None


_LONGEST_DATE = 100
_ISO_DATE = re.compile(r"\d{4}(-?)\d\d\1\d\d")
_DAY_FIRST_PARTS = re.compile(
    r"(?P<year>\d{4})\s?[-/.年]\s?(?P<month>\d{1,2})\s?[-/.月]\s?(?P<day>\d{1,2})日?"
    r"(?:[T\s]+(?P<hour>\d{1,2})\s?[:时點点]\s?(?P<minute>\d{1,2})(?:\s?[:分]\s?(?P<second>\d{1,2}))?分?秒?)?"
    r"\s?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_ZONE_GAP = re.compile(r"(?<=\d) (?=[+-]\d\d:?\d\d$)")
_FRACTION = re.compile(r"(\.\d{6})\d+")


def to_iso_date(value: Any) -> str | None:
    """Convert to ISO 8601, with a time zone if the text has one; a date stays a date. None if it
    is no date.
    """
    if not isinstance(value, str):
        return None
    text = collapse(value[: _LONGEST_DATE * 2])
    if not text or len(text) > _LONGEST_DATE:
        return None
    found = _parse(text)
    if found is not None:
        return found.date().isoformat() if _ISO_DATE.fullmatch(text) else found.isoformat()
    parts = _DAY_FIRST_PARTS.match(text)
    return _from_parts(parts) if parts is not None else None


def to_utc_date(value: Any) -> str | None:
    """Convert to ISO 8601 in UTC; without a time zone it is UTC."""
    text = to_iso_date(value)
    if text is None:
        return None
    try:
        return parse_iso_datetime(text).astimezone(UTC).isoformat()
    except OverflowError:
        return None


def _parse(text: str) -> datetime | None:
    if text[0].isdigit():
        try:
            return datetime.fromisoformat(_FRACTION.sub(r"\1", _ZONE_GAP.sub("", text)))
        except ValueError:
            if "-" in text[:8] or "/" in text[:8]:
                return None
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return found


def _from_parts(parts: re.Match[str]) -> str | None:
    date = f"{parts['year']}-{int(parts['month']):02}-{int(parts['day']):02}"
    if parts["hour"] is None:
        return date if _parse(date) is not None else None
    time = f"{int(parts['hour']):02}:{int(parts['minute']):02}:{int(parts['second'] or 0):02}"
    zone = parts["zone"] or ""
    found = _parse(f"{date}T{time}{'+00:00' if zone in {'Z', 'UTC', 'GMT'} else zone}")
    return found.isoformat() if found is not None else None


_LONGEST_UNPARSED = 65_536


def strip_html(html: str) -> str:
    """Return the collapsed text of an HTML fragment, blocks separated; only the start of a long one is
    parsed.
    """
    root = LexborHTMLParser(html[:_LONGEST_UNPARSED]).root
    if root is None:
        return ""
    root.strip_tags(["script", "style"])
    return collapse(root.text(separator=" "))


_MIN_BUDGET = 1_000_000


class TextBudget:
    """Reads texts of elements until they add up to a few times the page.

    Nested elements share their text; the budget bounds pages with endless nesting.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = max(4 * len(document.page.body), _MIN_BUDGET)

    def read(self, node: LexborNode) -> str:
        """Return the collapsed text of an element; empty once the budget is spent."""
        if self._left <= 0:
            return ""
        text = text_of(node, self._document)
        self._left -= len(text) + 1
        return text
