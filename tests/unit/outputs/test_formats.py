"""What the rows look like."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.output import Output
from smartspider.outputs.csv import CsvOutput
from smartspider.outputs.json import JsonlOutput


def columns(*names: str) -> list[TableColumn]:
    return [TableColumn(name) for name in names]


def written(output: Output, path: Path, *items: dict[str, Any]) -> bytes:
    for item in items:
        output.write(item)
    output.commit()
    return path.read_bytes()


def test_jsonl_has_one_object_per_line_in_task_order(tmp_path: Path) -> None:
    path = tmp_path / "items"
    rows = written(
        JsonlOutput(path, columns("b", "a")), path, {"a": 1, "b": "茶"}, {"b": None, "a": [{"c": 2}]}
    )
    assert rows.decode() == '{"b":"茶","a":1}\n{"b":null,"a":[{"c":2}]}\n'


def test_jsonl_has_only_the_fields_of_the_task(tmp_path: Path) -> None:
    path = tmp_path / "items"
    assert written(JsonlOutput(path, columns("a", "b")), path, {"a": 1, "extra": 2}) == b'{"a":1}\n'


def test_a_line_break_in_a_value_does_not_break_a_jsonl_row(tmp_path: Path) -> None:
    path = tmp_path / "items"
    assert written(JsonlOutput(path, columns("a")), path, {"a": "x\ny"}).count(b"\n") == 1


def test_csv_has_a_header_and_crlf_and_quotes_what_needs_it(tmp_path: Path) -> None:
    path = tmp_path / "items"
    rows = written(
        CsvOutput(path, columns("b", "a")), path, {"a": 'say "hi"', "b": "x, y"}, {"b": "1\n2", "a": "茶"}
    )
    assert rows.decode() == 'b,a\r\n"x, y","say ""hi"""\r\n"1\n2",茶\r\n'


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        ("", ""),
        ("text", "text"),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
        (["a", 1, None], '["a",1,null]'),
        ({"k": "茶"}, '{"k":"茶"}'),
        ([], "[]"),
    ],
)
def test_a_csv_cell(tmp_path: Path, value: Any, cell: str) -> None:
    path = tmp_path / "items"
    written(CsvOutput(path, columns("a", "b")), path, {"a": value, "b": "end"})
    with path.open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [["a", "b"], [cell, "end"]]


def test_csv_leaves_fields_of_another_page_type_empty(tmp_path: Path) -> None:
    path = tmp_path / "items"
    assert written(CsvOutput(path, columns("a", "b")), path, {"b": "x", "extra": "y"}) == b"a,b\r\n,x\r\n"


def test_a_run_without_items_gives_a_file_all_the_same(tmp_path: Path) -> None:
    assert written(CsvOutput(tmp_path / "c", columns("a")), tmp_path / "c") == b"a\r\n"
    assert written(JsonlOutput(tmp_path / "j", columns("a")), tmp_path / "j") == b""
