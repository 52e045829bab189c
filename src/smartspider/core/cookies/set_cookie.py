"""Parse Set-Cookie headers as browsers do (RFC 6265, section 5.2), in bytes."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

MAX_COOKIE_BYTES = 4096
"""The longest name and value together."""
MAX_ATTRIBUTE_BYTES = 1024
FOREVER = float("inf")

_CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_SPACE = b" \t"
_DATE_PARTS = re.compile(r"[\x00-\x08\x0a-\x1f0-9:A-Za-z\x7f-\xff]+")
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?!\d)")
_DAY = re.compile(r"(\d{1,2})(?!\d)")
_YEAR = re.compile(r"(\d{2,4})(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SECONDS = re.compile(rb"-?[0-9]+")


class SetCookie(msgspec.Struct, frozen=True):
    """A cookie as a server sets it. Empty `domain` or `path`: not given, so the request's own."""

    name: bytes
    value: bytes
    domain: str = ""
    path: str = ""
    expires_at: float = FOREVER
    """The moment it ends; a moment in the past deletes it."""
    is_secure: bool = False


def parse_set_cookie(header: bytes, now: float) -> SetCookie | None:
    """Return the cookie of a Set-Cookie header; None if browsers ignore the header."""
    if _CONTROLS.search(header):
        return None
    pair, *attributes = header.split(b";")
    name, equals, value = pair.partition(b"=")
    name, value = name.strip(_SPACE), value.strip(_SPACE)
    if not equals or not name or len(name) + len(value) > MAX_COOKIE_BYTES:
        return None
    named: dict[bytes, bytes] = {}
    for attribute in attributes:
        key, _, text = attribute.partition(b"=")
        if len(text := text.strip(_SPACE)) <= MAX_ATTRIBUTE_BYTES:
            named[key.strip(_SPACE).lower()] = text  # the last one counts
    return SetCookie(
        name,
        value,
        _domain(named.get(b"domain", b"")),
        _path(named.get(b"path", b"")),
        _expires_at(named, now),
        b"secure" in named,
    )


def parse_cookie_date(text: str) -> float | None:
    """Return the timestamp of a cookie date, however it is written; None if it is no date."""
    time = day = month = year = None
    for token in _DATE_PARTS.findall(text):
        if time is None and (found := _TIME.match(token)):
            time = int(found[1]), int(found[2]), int(found[3])
        elif day is None and (found := _DAY.match(token)):
            day = int(found[1])
        elif month is None and token[:3].lower() in _MONTHS:
            month = 1 + _MONTHS.index(token[:3].lower())
        elif year is None and (found := _YEAR.match(token)):
            year = _full_year(int(found[1]))
    if time is None or day is None or month is None or year is None or year < 1601:
        return None
    try:
        return datetime(year, month, day, *time, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _full_year(year: int) -> int:
    if year < 70:
        return year + 2000
    return year + 1900 if year < 100 else year


def _expires_at(named: dict[bytes, bytes], now: float) -> float:
    age = named.get(b"max-age", b"")
    if _SECONDS.fullmatch(age):
        seconds = int(age[:12])
        return now + seconds if seconds > 0 else 0.0
    moment = parse_cookie_date(named.get(b"expires", b"").decode("latin-1"))
    return FOREVER if moment is None else moment


def _domain(value: bytes) -> str:
    text = value.decode(errors="replace").lower()
    return text.removeprefix(".")


def _path(value: bytes) -> str:
    text = value.decode(errors="surrogateescape")
    return text if text.startswith("/") else ""
