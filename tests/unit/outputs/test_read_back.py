"""Every format, read back by a library that had no part in writing it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.outputs.readers import Row, read_rows

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.interfaces.output import Output
from smartspider.plugins.kinds import OUTPUT
from smartspider.services.results.outputs import open_output

FORMATS = sorted({*OUTPUT.built_in} - {"db"})
TEXT_FORMATS = ("jsonl", "json", "csv", "xml", "md")
KINDS: dict[str, ColumnKind] = {
    "name": "text",
    "price": "number",
    "stock": "integer",
    "used": "boolean",
    "seen": "datetime",
    "tags": "json",
}
COLUMNS = [TableColumn(name, kind) for name, kind in KINDS.items()]
FULL: Row = {
    "name": "Grüner 茶 🍵",
    "price": 12.5,
    "stock": 7,
    "used": True,
    "seen": "2026-01-03T14:05:00+08:00",
    "tags": ["a", {"b": None}],
}
EMPTY: Row = dict.fromkeys(KINDS)

each_format = pytest.mark.parametrize("suffix", FORMATS)


def written(
    path: Path, rows: Sequence[Row], columns: Sequence[TableColumn] = COLUMNS
) -> tuple[list[Row], Output]:
    """What a reader finds in a file of these rows, and the output that wrote it."""
    output = open_output(path, columns)
    for row in rows:
        output.write(row)
    output.commit()
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return read_rows(path), output


def texts(**changes: Any) -> Row:
    """The full row in a format that has only text."""
    tags = '["a",{"b":null}]'
    return {**FULL, "price": "12.5", "stock": "7", "used": "true", "tags": tags, **changes}


EXPECTED: dict[str, tuple[Row, Row]] = {
    "jsonl": (FULL, EMPTY),
    "json": (FULL, EMPTY),
    "csv": (texts(), dict.fromkeys(KINDS, "")),
    "md": (texts(), dict.fromkeys(KINDS, "")),
    "xml": (texts(tags=["a", {"b": None}]), EMPTY),
    "sqlite": ({**FULL, "used": 1, "tags": '["a",{"b":null}]'}, EMPTY),
    "parquet": (
        {**FULL, "seen": datetime(2026, 1, 3, 6, 5, tzinfo=UTC), "tags": '["a",{"b":null}]'},
        EMPTY,
    ),
    "xlsx": ({**FULL, "seen": datetime(2026, 1, 3, 6, 5), "tags": '["a",{"b":null}]'}, EMPTY),  # noqa: DTZ001
}


@each_format
def test_rows_come_back_as_the_format_has_them(tmp_path: Path, suffix: str) -> None:
    found, output = written(tmp_path / f"items.{suffix}", [FULL, EMPTY, FULL])
    full, empty = EXPECTED[suffix]
    assert found == [full, empty, full]
    assert [list(row) for row in found] == [list(KINDS)] * 3
    assert output.notes() == []


@each_format
def test_a_run_without_items_gives_a_valid_file(tmp_path: Path, suffix: str) -> None:
    assert written(tmp_path / f"items.{suffix}", [])[0] == []


@each_format
def test_a_task_without_fields_gives_a_valid_file(tmp_path: Path, suffix: str) -> None:
    found, _ = written(tmp_path / f"items.{suffix}", [{}, {}], [])
    assert all(not any(row.values()) for row in found)


@pytest.mark.parametrize("packed", ["gz", "zst", "bz2", "xz"])
@pytest.mark.parametrize("suffix", TEXT_FORMATS)
def test_text_is_compressed_by_a_further_suffix(tmp_path: Path, suffix: str, packed: str) -> None:
    rows = [{**FULL, "stock": number} for number in range(3_000)]
    plain, _ = written(tmp_path / "plain" / f"items.{suffix}", rows)
    path = tmp_path / "packed" / f"items.{suffix}.{packed}"
    found, _ = written(path, rows)
    assert found == plain
    assert path.stat().st_size < (tmp_path / "plain" / f"items.{suffix}").stat().st_size / 5


@each_format
def test_the_same_rows_give_the_same_rows_again(tmp_path: Path, suffix: str) -> None:
    first, _ = written(tmp_path / "a" / f"items.{suffix}", [FULL])
    second, _ = written(tmp_path / "b" / f"items.{suffix}", [FULL])
    assert first == second


NASTY = {
    "a text of many characters": "x" * 10_000_000,
    "control characters": "a\x00b\x01c\x1b[31md\x7f\x85e\ufffe\uffff",
    "a lone surrogate": "a\ud800b",
    "line breaks and tabs": "a\r\nb\rc\n\td",
    "quotes and commas": "a\"b'c,d;e",
    "markup": "<r><t>&amp;</t></r> <![CDATA[ ]]> <!-- -->",
    "the library's own markup": "<r><broken></r>",
    "pipes and backslashes": "a|b\\|c\\\\|d\\",
    "an escape of spreadsheets": "_x0041_",
    "a formula": '=HYPERLINK("http://evil.example","x")',
    "a link": "http://h/" + "x" * 3_000,
    "spaces at the ends": "  a  ",
    "a byte order mark": "\ufeffa",
    "a number of many digits": 10**30,
    "a number beyond doubles": 2**53 + 1,
    "a tiny number": 5e-324,
    "nested deeply": json.loads("[" * 400 + "]" * 400),
    "strange keys": {"": 1, "1": 2, "xml": 3, "a b": 4, "a\nb": 5, "ключ": 6, "键": 7, "🍵": 8, 'q"<': 9},
    "an empty list": [],
    "an empty object": {},
}
LOSSY = {"control characters", "a lone surrogate", "a text of many characters"}
KEPT_EXACTLY = {"jsonl", "json", "csv", "sqlite", "parquet"}


@each_format
@pytest.mark.parametrize("what", NASTY)
@pytest.mark.parametrize("kind", ["text", "json"])
def test_bad_data_never_breaks_a_file(tmp_path: Path, suffix: str, what: str, kind: ColumnKind) -> None:
    value = NASTY[what]
    columns = [TableColumn("before"), TableColumn("bad", kind), TableColumn("after")]
    rows = [{"before": "b", "bad": value, "after": "a"}, {"before": "c", "bad": None, "after": "d"}]
    (first, second), _ = written(tmp_path / f"items.{suffix}", rows, columns)
    assert (first["before"], first["after"]) == ("b", "a")
    assert (second["before"], second["after"]) == ("c", "d")
    if suffix not in KEPT_EXACTLY or what == "a lone surrogate":
        return
    if suffix in {"jsonl", "json"} or isinstance(value, str):
        assert first["bad"] == value
    elif suffix in {"parquet", "sqlite"} and isinstance(value, int | float) and value < 2**63:
        assert (first["bad"], type(first["bad"])) == (value, type(value))
    else:
        assert json.loads(first["bad"]) == value


@pytest.mark.parametrize("what", sorted({*NASTY} - LOSSY))
def test_a_spreadsheet_keeps_what_it_can_hold(tmp_path: Path, what: str) -> None:
    value = NASTY[what]
    ((row,), _) = written(tmp_path / "items.xlsx", [{"a": value}], [TableColumn("a")])
    expected: Any = value if isinstance(value, str | float) else json.dumps(value, ensure_ascii=False)
    if what == "an escape of spreadsheets":
        expected = "_x005F_x0041_"  # how the format writes what looks like one of its escapes
    found = row["a"]
    if isinstance(expected, str) and not isinstance(value, str):
        found, expected = json.loads(found), json.loads(expected)
    if isinstance(expected, str):
        expected = expected.replace("\r\n", "\n").replace("\r", "\n")
    assert found == expected


def test_what_utf_8_cannot_hold_is_replaced(tmp_path: Path) -> None:
    for suffix in FORMATS:
        ((row,), _) = written(tmp_path / suffix / f"items.{suffix}", [{"a": "x\ud800y"}], [TableColumn("a")])
        assert row["a"] == "x?y"


@each_format
def test_column_names_that_are_no_names_are_told_apart(tmp_path: Path, suffix: str) -> None:
    names = [
        "Name",
        "name",
        "NAME",
        "",
        "a b",
        "a_b",
        "1",
        "select",
        'q"u',
        "a,b|c",
        "rowid",
        "x\ny",
        "\ud800",
    ]
    row = {name: f"v{place}" for place, name in enumerate(names)}
    (found,), _ = written(tmp_path / f"items.{suffix}", [row], [TableColumn(name) for name in names])
    assert list(found.values()) == list(row.values())


def test_sqlite_and_parquet_number_names_they_cannot_tell_apart(tmp_path: Path) -> None:
    columns = [TableColumn("a"), TableColumn("A"), TableColumn("")]
    (row,), _ = written(tmp_path / "s" / "items.sqlite", [{"a": "1", "A": "2"}], columns)
    assert list(row) == ["a", "A_2", "column_3"]
    (row,), _ = written(tmp_path / "p" / "items.parquet", [{"a": "1", "A": "2"}], columns)
    assert list(row) == ["a", "A", "column_3"]


def test_a_date_without_a_time_zone_is_taken_for_utc_and_a_day_stays_a_day(tmp_path: Path) -> None:
    rows = [{"at": "2026-01-03"}, {"at": "2026-01-03T14:05:06"}, {"at": "2026-01-03T14:05:06Z"}]
    columns = [TableColumn("at", "datetime")]
    found, _ = written(tmp_path / "p" / "items.parquet", rows, columns)
    moment = datetime(2026, 1, 3, 14, 5, 6, tzinfo=UTC)
    assert [row["at"] for row in found] == [datetime(2026, 1, 3, tzinfo=UTC), moment, moment]
    found, _ = written(tmp_path / "x" / "items.xlsx", rows, columns)
    days = [row["at"] for row in found]
    assert days[0] in {date(2026, 1, 3), datetime(2026, 1, 3)}  # noqa: DTZ001 - spreadsheets know no zones
    assert days[1:] == [moment.replace(tzinfo=None)] * 2


@pytest.mark.parametrize("text", ["yesterday", "", "0001-01-01T00:00:00+14:00", "1899-12-31", "9999-99-99"])
def test_a_date_that_is_none_stays_text_in_a_spreadsheet(tmp_path: Path, text: str) -> None:
    found, _ = written(
        tmp_path / "items.xlsx", [{"at": text, "b": 1}], [TableColumn("at", "datetime"), TableColumn("b")]
    )
    assert (found[0]["at"] or "") == text
