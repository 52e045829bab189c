"""Tables: their rows, heads and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smartspider.suggest.suggestion import Suggestion

Best = Callable[..., Suggestion]

ROWS = "".join(f"<tr><td>River {i}</td><td>{i}00</td></tr>" for i in range(1, 6))


@pytest.mark.parametrize(
    "head",
    [
        "<thead><tr><th>Name</th><th>Length</th></tr></thead>",
        "<tr><th>Name</th><th>Length</th></tr>",
        "<tr><td><b>Name</b></td><td><strong>Length</strong></td></tr>",
    ],
)
def test_the_head_gives_the_names_and_is_no_row(head: str, best: Best, rows: Any, page_of: Any) -> None:
    body = f"<table class='rivers'>{head}{ROWS}</table>"
    found = best(body)
    assert found.kind == "table"
    items = rows(found, page_of(body))
    assert len(items) == 5
    assert items[0] == {"name": "River 1", "length": 100}


def test_rows_that_span_the_table_are_no_items(best: Best) -> None:
    head = "<tr><th>Name</th><th>Length</th></tr>"
    body = f"<table>{head}<tr><td colspan=2>North</td></tr>{ROWS}<tr><td colspan=2>End</td></tr></table>"
    assert best(body).count == 5


def test_a_table_that_only_lays_out_the_page_is_passed_over(best: Best) -> None:
    inner = f"<table><tr><th>Name</th><th>Length</th></tr>{ROWS}</table>"
    found = best(f"<table><tr><td>Menu<br><a href=/a>A</a></td><td>{inner}</td></tr></table>")
    assert found.count == 5
    assert [field.name for field in found.fields] == ["name", "length"]


def test_terms_and_their_definitions_are_a_list(best: Best, rows: Any, page_of: Any) -> None:
    body = "<dl>" + "".join(f"<dt>Term {i}</dt><dd>What it means, {i}.</dd>" for i in range(7)) + "</dl>"
    items = rows(best(body), page_of(body))
    assert items[3] == {"term": "Term 3", "definition": "What it means, 3."}


def test_several_header_rows_are_joined(best: Best, rows: Any, page_of: Any) -> None:
    head = "<tr><th></th><th colspan=2>Area</th></tr><tr><th>Name</th><th>sq mi</th><th>km</th></tr>"
    cells = "".join(f"<tr><td>Land {i}</td><td>{i}1</td><td>{i}2</td></tr>" for i in range(1, 7))
    body = f"<table>{head}{cells}</table>"
    items = rows(best(body), page_of(body))
    assert items[1] == {"name": "Land 2", "area_sq_mi": 21, "area_km": 22}


def test_tables_with_the_same_headers_are_one_list(best: Best) -> None:
    head = "<tr><th>Name</th><th>Length</th></tr>"
    other = "<table><tr><th>Key</th><th>Meaning</th></tr><tr><td>a</td><td>b</td></tr></table>"
    body = "".join(f"<h2>North {i}</h2><table>{head}{ROWS}</table>" for i in range(3)) + other
    found = best(body)
    assert found.count == 15
    assert "3 tables with the same headers" in found.reasons[0]


def test_a_cell_is_one_value_with_its_link_beside_it(best: Best, rows: Any, page_of: Any) -> None:
    cells = "".join(
        f"<tr><td class='x'>River <b>{i}</b>, <i>{'north' if i % 2 else 'south'}</i></td>"
        f"<td><a href='/f/{i}'>flow {i}</a></td><td>00{i}</td></tr>"
        for i in range(1, 9)
    )
    body = f"<table><tr><th>Name</th><th>Flow</th><th>Code</th></tr>{cells}</table>"
    first = rows(best(body), page_of(body))[0]
    assert first == {
        "name": "River 1, north",
        "flow": "flow 1",
        "url": "https://site.example/f/1",
        "code": "001",
    }


def test_cells_that_span_rows_are_repeated_in_each(best: Best, rows: Any, page_of: Any) -> None:
    cells = "".join(
        f"<tr><td rowspan=3>Land {i}</td><td>Town {i}a</td><td>{i}1</td></tr>"
        f"<tr><td>Town {i}b</td><td>{i}2</td></tr><tr><td>Town {i}c</td><td>{i}3</td></tr>"
        for i in range(1, 6)
    )
    head = "<tr><th>Land</th><th>Town</th><th>People</th></tr>"
    body = f"<table>{head}{cells}</table>"
    items = rows(best(body), page_of(body))
    assert len(items) == 15
    assert items[1] == {"land": "Land 1", "town": "Town 1b", "people": 12}


def test_every_named_column_is_a_field(best: Best) -> None:
    rows = "".join(
        f"<tr><td>Word {i}</td><td>{'reserved' if i == 100 else ''}</td><td></td><td>Word {i}</td></tr>"
        for i in range(300)
    )
    head = "<tr><th>Word</th><th>SQL:2011</th><th>SQL-92</th><th>Again</th></tr>"
    found = best(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>")
    assert {field.name for field in found.fields} == {"word", "sql_2011", "sql_92", "again"}
