"""Columns with a type, and values that are not of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet as pq  # type: ignore[import-untyped] # ships no types
from tests.unit.outputs.readers import read_rows

from smartspider.core.items.columns import ColumnKind, TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.output import Output
from smartspider.outputs.parquet import ParquetOutput
from smartspider.outputs.sqlite import SqliteOutput

COLUMNS = [
    TableColumn("name"),
    TableColumn("price", "number"),
    TableColumn("stock", "integer"),
    TableColumn("used", "boolean"),
    TableColumn("seen", "datetime"),
    TableColumn("tags", "json"),
]


class SmallParquet(ParquetOutput):
    """Writes rows two by two, so that there are some before the one that does not fit."""

    batch_rows = 2


class SmallSqlite(SqliteOutput):
    """The same, for SQLite."""

    batch_rows = 2


def write(output: Output, rows: Sequence[Item]) -> list[str]:
    for row in rows:
        output.write(row)
    output.commit()
    return output.notes()


def types_of(path: Path) -> dict[str, str]:
    if path.suffix == ".parquet":
        return {field.name: str(field.type) for field in pq.read_schema(path)}
    connection = sqlite3.connect(path)
    try:
        return {row[1]: row[2] for row in connection.execute("PRAGMA table_info(items)")}
    finally:
        connection.close()


def test_columns_have_the_types_of_the_task(tmp_path: Path) -> None:
    write(SmallParquet(tmp_path / "a.parquet", COLUMNS), [{"name": "x"}])
    assert types_of(tmp_path / "a.parquet") == {
        "name": "string",
        "price": "double",
        "stock": "int64",
        "used": "bool",
        "seen": "timestamp[us, tz=UTC]",
        "tags": "string",
    }
    write(SmallSqlite(tmp_path / "a.db", COLUMNS), [{"name": "x"}])
    assert types_of(tmp_path / "a.db") == {
        "name": "TEXT",
        "price": "REAL",
        "stock": "INTEGER",
        "used": "INTEGER",
        "seen": "TEXT",
        "tags": "TEXT",
    }


def test_columns_have_their_types_also_without_rows(tmp_path: Path) -> None:
    write(SmallParquet(tmp_path / "a.parquet", COLUMNS), [])
    assert types_of(tmp_path / "a.parquet")["seen"] == "timestamp[us, tz=UTC]"


MISFITS: list[tuple[ColumnKind, list[Any], list[Any]]] = [
    ("number", [1.5, None, 2, 3.25, "about 4"], ["1.5", None, "2.0", "3.25", "about 4"]),
    ("number", [1.5, 2.5, 3.5, 2**53 + 1], ["1.5", "2.5", "3.5", "9007199254740993"]),
    ("number", [1.5, 2.5, 3.5, True], ["1.5", "2.5", "3.5", "true"]),
    ("integer", [1, 2, 3, None, "007", 5], ["1", "2", "3", None, "007", "5"]),
    ("integer", [1, 2, 2**63], ["1", "2", "9223372036854775808"]),
    ("integer", [1, 2, 2.5], ["1", "2", "2.5"]),
    ("boolean", [True, False, None, "perhaps"], ["true", "false", None, "perhaps"]),
    ("boolean", [True, False, 1], ["true", "false", "1"]),
    ("number", ["first"], ["first"]),
    ("number", [1.0, 2.0, [3]], ["1.0", "2.0", "[3]"]),
]


@pytest.mark.parametrize("suffix", ["parquet", "sqlite"])
@pytest.mark.parametrize(("kind", "values", "expected"), MISFITS)
def test_a_column_with_a_value_that_does_not_fit_is_text_as_a_whole(
    tmp_path: Path, suffix: str, kind: ColumnKind, values: list[Any], expected: list[Any]
) -> None:
    path = tmp_path / f"a.{suffix}"
    columns = [TableColumn("before", "integer"), TableColumn("v", kind), TableColumn("after", "number")]
    made = SmallParquet if suffix == "parquet" else SmallSqlite
    rows = [{"before": place, "v": value, "after": place + 0.5} for place, value in enumerate(values)]
    notes = write(made(path, columns), rows)
    found = read_rows(path)
    assert [row["v"] for row in found] == expected
    assert [(row["before"], row["after"]) for row in found] == [(n, n + 0.5) for n in range(len(values))]
    assert types_of(path)["v"] in {"string", "TEXT"}
    assert types_of(path)["after"] in {"double", "REAL"}
    assert len(notes) == 1
    assert notes[0].startswith(f"the column v of {path} is text: not every value is a")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_column_of_dates_with_something_else_is_text_with_the_moments_in_utc(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    dates = ["2026-01-03T14:05:00+08:00", "2026-01-03", None, "soon"]
    write(SmallParquet(path, [TableColumn("v", "datetime")]), [{"v": value} for value in dates])
    assert [row["v"] for row in read_rows(path)] == [
        "2026-01-03T06:05:00+00:00",
        "2026-01-03T00:00:00+00:00",
        None,
        "soon",
    ]


def test_several_columns_can_become_text_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = [TableColumn("a", "integer"), TableColumn("b", "integer")]
    rows: list[Item] = [
        {"a": 1, "b": 1},
        {"a": 2, "b": 2},
        {"a": "x", "b": 3},
        {"a": 4, "b": 4},
        {"a": 5, "b": "y"},
    ]
    assert len(write(SmallParquet(path, columns), rows)) == 2
    assert [(row["a"], row["b"]) for row in read_rows(path)] == [
        ("1", "1"),
        ("2", "2"),
        ("x", "3"),
        ("4", "4"),
        ("5", "y"),
    ]


def test_large_rows_make_small_groups(tmp_path: Path) -> None:
    class SmallGroups(ParquetOutput):
        batch_bytes = 10_000

    write(SmallGroups(tmp_path / "a.parquet", [TableColumn("a")]), [{"a": "x" * 4_000}] * 9)
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_row_groups == 3


def test_parquet_is_compressed_with_zstd(tmp_path: Path) -> None:
    write(SmallParquet(tmp_path / "a.parquet", COLUMNS), [{"name": "x"}])
    metadata = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_moments_keep_their_microseconds(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(SmallParquet(path, [TableColumn("v", "datetime")]), [{"v": "2026-01-03T14:05:00.123456Z"}])
    assert read_rows(path) == [{"v": datetime(2026, 1, 3, 14, 5, 0, 123456, tzinfo=UTC)}]


OPEN: list[tuple[list[Any], dict[str, str], list[Any] | None]] = [
    ([1, None, 2, 3], {"parquet": "int64", "sqlite": "INTEGER"}, [1, None, 2, 3]),
    ([1.5, 2, 3.25], {"parquet": "double", "sqlite": "REAL"}, [1.5, 2.0, 3.25]),
    ([1, 2, 3, 4.5], {"parquet": "double", "sqlite": "REAL"}, [1.0, 2.0, 3.0, 4.5]),
    ([True, None, None, False], {"parquet": "bool", "sqlite": "INTEGER"}, [True, None, None, False]),
    ([None, None, None, 7], {"parquet": "int64", "sqlite": "INTEGER"}, [None, None, None, 7]),
    ([None, None, "x"], {"parquet": "string", "sqlite": "TEXT"}, [None, None, "x"]),
    ([None, None], {"parquet": "string", "sqlite": "TEXT"}, [None, None]),
    ([1, 2, 3, "x"], {"parquet": "string", "sqlite": "TEXT"}, ["1", "2", "3", "x"]),
    ([True, False, 1], {"parquet": "string", "sqlite": "TEXT"}, ["true", "false", "1"]),
    ([[1], {"a": 2}, None, 3], {"parquet": "string", "sqlite": "TEXT"}, ["[1]", '{"a":2}', None, "3"]),
    ([2**53 + 1, None, 1], {"parquet": "int64", "sqlite": "INTEGER"}, [2**53 + 1, None, 1]),
    ([2**53 + 1, 1, 2.5], {"parquet": "string", "sqlite": "TEXT"}, [str(2**53 + 1), "1", "2.5"]),
    ([1, 2, 2.5, 2**53 + 1], {"parquet": "string", "sqlite": "TEXT"}, None),
    ([2**63], {"parquet": "string", "sqlite": "TEXT"}, [str(2**63)]),
    (["2026-01-03", "2026-01-04"], {"parquet": "string", "sqlite": "TEXT"}, ["2026-01-03", "2026-01-04"]),
]


@pytest.mark.parametrize("suffix", ["parquet", "sqlite"])
@pytest.mark.parametrize("kind", ["json", "text"])
@pytest.mark.parametrize("case", OPEN)
def test_values_decide_where_the_task_does_not(
    tmp_path: Path, suffix: str, kind: ColumnKind, case: tuple[list[Any], dict[str, str], Any]
) -> None:
    values, types, expected = case
    path = tmp_path / f"a.{suffix}"
    columns = [TableColumn("before"), TableColumn("v", kind), TableColumn("after", "number")]
    made = SmallParquet if suffix == "parquet" else SmallSqlite
    rows = [{"before": f"b{place}", "v": value, "after": 0.5} for place, value in enumerate(values)]
    assert write(made(path, columns), rows) == []
    found = read_rows(path)
    assert types_of(path)["v"] == types[suffix]
    assert [row["before"] for row in found] == [row["before"] for row in rows]
    if expected is not None:
        shown = [row["v"] for row in found]
        assert shown == expected
        assert types[suffix] == "INTEGER" or list(map(type, shown)) == list(map(type, expected))
