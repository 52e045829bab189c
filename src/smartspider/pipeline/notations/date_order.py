"""The order of day and month in dates such as `03/01/2026`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMERIC = re.compile(r"(?<![\d/-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d\d)(?![\d/-])")
_MONTH_FIRST = frozenset({"en-us", "en-ph", "es-us", "es-pr", "es-pa"})
_DAY_FIRST_ENGLISH = frozenset(
    {"en-gb", "en-au", "en-nz", "en-ie", "en-in", "en-sg", "en-hk", "en-ke", "en-ng"}
)
_UNCERTAIN = frozenset({"en", "zh", "ja", "ko", "hu", "lt", "mn", "fil"})
"""Languages of several orders, or with the year first."""


def numeric_pair(text: str) -> tuple[int, int] | None:
    """Return the first two numbers of a date with slashes or dashes and the year last; None without one."""
    found = _NUMERIC.search(text)
    return None if found is None else (int(found[1]), int(found[3]))


def shown_order(pairs: Iterable[tuple[int, int]]) -> str | None:
    """Return the order that the dates of a column show: a number above 12 is a day. None if they do not."""
    orders = {"DMY" if first > 12 else "MDY" for first, second in pairs if (first > 12) != (second > 12)}
    return orders.pop() if len(orders) == 1 else None


def spoken_order(language: str | None) -> str | None:
    """Return the order in a language such as `de` or `en-US`; None if it has none of its own."""
    tag = (language or "").replace("_", "-").lower()
    if not tag or tag in _MONTH_FIRST:
        return "MDY" if tag else None
    if tag in _DAY_FIRST_ENGLISH:
        return "DMY"
    return None if tag.partition("-")[0] in _UNCERTAIN else "DMY"
