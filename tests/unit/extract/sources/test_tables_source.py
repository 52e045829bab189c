from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Read = Callable[..., Any]


def test_rows_are_objects_by_header(said: Read) -> None:
    page = """<table><caption> Water  levels </caption><thead><tr><th>Town</th><th>水位</th></tr></thead>
    <tbody><tr><td>Aford</td><td> 3.2
     m</td></tr><tr><td>Bford</td></tr></tbody><tfoot><tr><td>Sum<script>x</script></td><td>3.2</td></tr></tfoot></table>"""
    assert said("tables", page) == [
        {
            "caption": "Water levels",
            "headers": ["Town", "水位"],
            "rows": [
                {"Town": "Aford", "水位": "3.2 m"},
                {"Town": "Bford", "水位": None},
                {"Town": "Sum", "水位": "3.2"},
            ],
        }
    ]


def test_spans_fill_every_place_they_cover(said: Read) -> None:
    page = """<table><tr><th rowspan=2>Town</th><th colspan=2>Level</th></tr><tr><th>min</th><th>max</th></tr>
    <tr><td rowspan=2>A</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr>
    <tr><td colspan=3>all</td></tr>
    <tr><td>B</td><td rowspan=9>5</td><td>6</td></tr><tr><td>C</td></tr></table>"""
    (table,) = said("tables", page)
    assert table["headers"] == ["Town", "Level min", "Level max"]
    assert [list(row.values()) for row in table["rows"]] == [
        ["A", "1", "2"],
        ["A", "3", "4"],
        ["all", "all", "all"],
        ["B", "5", "6"],
        ["C", "5", None],
    ]


def test_missing_and_repeated_headers_are_called_by_their_place(said: Read) -> None:
    page = """<table><tr><th>A</th><th></th><th>A</th><th>column_5</th></tr>
    <tr><td>1<td>2<td>3<td>4<td>5</table>"""
    (table,) = said("tables", page)
    assert table["headers"] == ["A", "column_2", "column_3", "column_5", "column_5_"]
    assert table["rows"] == [{"A": "1", "column_2": "2", "column_3": "3", "column_5": "4", "column_5_": "5"}]


def test_a_header_over_the_whole_width_is_the_title(said: Read) -> None:
    page = "<table><tr><th colspan=2>Title</th></tr><tr><th>A</th><th>B</th></tr><tr><td>1<td>2</table>"
    assert said("tables", page) == [
        {"caption": "Title", "headers": ["A", "B"], "rows": [{"A": "1", "B": "2"}]}
    ]


def test_headers_at_the_side_are_values(said: Read) -> None:
    page = "<table><tr><th>Name</th><td>Ann</td></tr><tr><th>Age</th><td>3</td></tr></table>"
    (table,) = said("tables", page)
    assert table["rows"] == [{"column_1": "Name", "column_2": "Ann"}, {"column_1": "Age", "column_2": "3"}]


def test_a_table_in_a_table_stands_for_itself(said: Read) -> None:
    page = (
        "<table><tr><td>out <p>er <table><tr><td>inner</td></tr></table> end</td></tr></table><table></table>"
    )
    assert [table["rows"] for table in said("tables", page)] == [
        [{"column_1": "out er end"}],
        [{"column_1": "inner"}],
    ]


def test_spans_end_with_their_section(said: Read) -> None:
    page = "<table><tbody><tr><td rowspan=5>a</td><td>b</td></tr></tbody><tbody><tr><td>c</td></tr></tbody>"
    (table,) = said("tables", page)
    assert [list(row.values()) for row in table["rows"]] == [["a", "b"], ["c", None]]


@pytest.mark.parametrize("span", ["0", "-1", "x", "1.5", "", "9" * 30])
def test_spans_that_mean_nothing_are_one(said: Read, span: str) -> None:
    (table,) = said(
        "tables", f"<table><tr><td colspan='{span}' rowspan='{span}'>a</td><td>b</td></tr></table>"
    )
    assert table["rows"] == [{"column_1": "a", "column_2": "b"}]


def test_tables_of_an_item_are_its_own(said_in: Read) -> None:
    item = "<div><table><tr><th>A</th></tr><tr><td>1</td></tr></table></div>"
    assert said_in("tables", item, page="<table><tr><td>other") == [
        {"caption": None, "headers": ["A"], "rows": [{"A": "1"}]}
    ]


@pytest.mark.parametrize(
    "page",
    [
        "<table>" + "<tr><td rowspan=65534 colspan=1000>x</td></tr>" * 3_000,
        "<table><tr><td colspan=1000>" + "y" * 100_000,
        "<table>" + "<tr><td colspan=1000>z</td></tr>" * 3_000,
    ],
)
def test_spans_cannot_multiply_a_page(said: Read, page: str) -> None:
    (table,) = said("tables", page)
    values = [value for row in table["rows"] for value in row.values() if value is not None]
    assert len(values) <= 510_000
    assert sum(map(len, values)) <= 21_000_000


def test_names_of_columns_are_short(said: Read) -> None:
    (table,) = said("tables", "<table><tr><th>" + "h" * 10_000 + "</th></tr><tr><td>1</td></tr></table>")
    assert table["headers"] == ["h" * 200]
