"""The English and Chinese dates of dateparser's tests, read by the step `date` without options.

    python -m benchmarks.outside.dates

The rows are those below the comments `# English` and `# Chinese` in these tables:

    tests/test_date_parser.py            dates, also normalized
    tests/test_freshness_date_parser.py  past and future dates relative to now
    tests/test_search.py                 sentences with exactly one date, of which day and month are given

Rows that other settings change are left out, and equal rows are counted once. dateparser adds the time of
now to days, weeks, months and years; the step writes the day, which is compared then.
"""

from __future__ import annotations

import ast
import datetime as datetimes
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.outside.report import Results
from benchmarks.outside.sources import open_source
from dateutil.relativedelta import relativedelta

from smartspider.interfaces.step import PageContext, StepFailed
from smartspider.pipeline.steps.dates import DateStep

SOURCE = "github:scrapinghub/dateparser@315e396b35cf131df1b8df15144fe2d60aa6d74a"
SHARE_ASKED = 0.98
_LANGUAGE = re.compile(r"\s*# ([A-Z]\w+)(?: dates| / .*)?$")
_WANTED = {"English", "Chinese"}
_DATES = datetime(2012, 11, 13)  # noqa: DTZ001 - as in the tests
_FRESHNESS = datetime(2014, 9, 1, 10, 30)  # noqa: DTZ001 - as in the tests
_TABLES = {
    "test_date_parser.py": {
        "test_dates_parsing": _DATES,
        "test_dates_parsing_with_normalization": _DATES,
    },
    "test_freshness_date_parser.py": {
        "test_relative_past_dates_with_time_as_period": _FRESHNESS,
        "test_relative_past_dates": _FRESHNESS,
        "test_normalized_relative_dates": _FRESHNESS,
        "test_relative_future_dates": _FRESHNESS,
    },
    "test_search.py": {"test_search_and_parse": datetime(2000, 1, 1)},  # noqa: DTZ001 - as in the tests
}
_IN_SECONDS = {"hours", "minutes", "seconds"}


class Row(NamedTuple):
    """A text, the time it was fetched, and the expected date; without `has_time` only the day counts."""

    text: str
    now: datetime
    expected: datetime
    has_time: bool


def main() -> int:
    """Print the figure and the failures; return 1 below the figure asked."""
    results = Results("dates")
    folder = open_source(SOURCE) / "tests"
    step = DateStep()
    for row in dict.fromkeys(row for name in _TABLES for row in read_rows(folder / name)):
        context = PageContext("", "", row.now.replace(tzinfo=UTC).timestamp())
        try:
            actual = datetime.fromisoformat(step.apply(row.text, context)).replace(tzinfo=None)
        except StepFailed:
            actual = None
        expected = row.expected
        if not row.has_time:
            expected = expected.replace(hour=0, minute=0, second=0, microsecond=0)
            actual = actual and actual.replace(hour=0, minute=0, second=0, microsecond=0)
        results.add(repr(row.text), str(expected), actual and str(actual))
    return results.report(asked=SHARE_ASKED)


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the English and Chinese rows of the tables in a test file."""
    source = path.read_text()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef) or node.name not in _TABLES[path.name]:
            continue
        (table,) = [each for each in node.decorator_list if isinstance(each, ast.Call)]
        for call in table.args[0].elts:  # type: ignore[attr-defined] # a list
            if _language_of(lines, call.lineno) in _WANTED:
                row = _row(_values(call), _TABLES[path.name][node.name])
                if row is not None:
                    yield row


def _language_of(lines: list[str], line: int) -> str:
    """Return the language in the nearest comment above a line."""
    return next((found[1] for text in lines[line - 1 :: -1] if (found := _LANGUAGE.match(text))), "")


def _values(call: ast.expr) -> dict[str, Any]:
    """Evaluate the arguments of a row; positional ones are numbered."""
    known = {"datetime": _Dates, "param": lambda *args, **named: {**dict(enumerate(args)), **named}}
    try:
        values: dict[Any, Any] = eval(compile(ast.Expression(call), "row", "eval"), known)
    except NameError:  # settings or zones of the test suite
        return {}
    return values


class _Dates(datetime):
    """Stands for the class in two test files and for the module in the third."""

    datetime = datetime
    timedelta = datetimes.timedelta


def _row(values: dict[Any, Any], now: datetime) -> Row | None:
    match values:
        case {"ago": distance} | {"in_future": distance}:
            sign = -1 if "ago" in values else 1
            expected = now + sign * _distance(distance)
            return Row(values[0], now, expected, not _IN_SECONDS.isdisjoint(distance))
        case {0: str(text), 1: datetime() as expected}:
            return Row(text, now, expected, has_time=True)
        case {0: str(), 1: str(text), 2: [(str(found), datetime() as expected)]}:
            if values.get("settings", {"RELATIVE_BASE": now}).keys() != {"RELATIVE_BASE"}:
                return None
            has_day = len(re.findall(r"\d+", found)) != 1 or not found.isdecimal()
            return Row(text, now, expected.replace(tzinfo=None), has_time=True) if has_day else None
    return None


def _distance(parts: dict[str, float]) -> Any:
    whole = {name: value for name, value in parts.items() if isinstance(value, int)}
    rest = {name: value for name, value in parts.items() if not isinstance(value, int)}
    return relativedelta(**whole) + datetimes.timedelta(**rest) if rest else relativedelta(**whole)


if __name__ == "__main__":
    sys.exit(main())
