"""Workbooks, and CSV that is made for spreadsheets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped] # ships no types
import pytest
from tests.unit.outputs.readers import read_rows, sheets

from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.output import OutputOptions
from smartspider.outputs.csv import CsvOutput
from smartspider.outputs.xlsx import XlsxOutput

EXCEL = OutputOptions(is_for_excel=True)


def test_the_header_is_bold_stays_in_sight_and_filters(tmp_path: Path) -> None:
    output = XlsxOutput(tmp_path / "a.xlsx", [TableColumn("a"), TableColumn("b")])
    output.write({"a": "x"})
    output.write({"b": "y"})
    output.commit()
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    assert sheet.title == "items"
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == "A1:B3"
    assert sheet["A1"].font.b
    assert not sheet["A2"].font.b


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "=cmd|' /C calc'!A0", "{=1}"])
def test_no_text_becomes_a_formula(tmp_path: Path, text: str) -> None:
    output = XlsxOutput(tmp_path / "a.xlsx", [TableColumn(text)])
    output.write({text: text})
    output.commit()
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    for cell in (sheet["A1"], sheet["A2"]):
        assert cell.data_type in {"s", "inlineStr"} or not cell.value.startswith("=")
    assert b"<f>" not in _sheet_xml(tmp_path / "a.xlsx")
    assert sheet["A2"].value == text


def _sheet_xml(path: Path) -> bytes:
    from zipfile import ZipFile

    with ZipFile(path) as archive:
        return archive.read("xl/worksheets/sheet1.xml")


def test_links_and_digits_stay_text(tmp_path: Path) -> None:
    output = XlsxOutput(tmp_path / "a.xlsx", [TableColumn("a"), TableColumn("b")])
    output.write({"a": "http://h/", "b": "007"})
    output.commit()
    assert read_rows(tmp_path / "a.xlsx") == [{"a": "http://h/", "b": "007"}]
    assert b"<hyperlink" not in _sheet_xml(tmp_path / "a.xlsx")


class SmallSheets(XlsxOutput):
    sheet_rows = 4


def test_rows_go_on_in_further_sheets(tmp_path: Path) -> None:
    output = SmallSheets(tmp_path / "a.xlsx", [TableColumn("n", "integer")])
    for number in range(7):
        output.write({"n": number})
    output.commit()
    assert sheets(tmp_path / "a.xlsx") == {
        "items": [("n",), (0,), (1,), (2,)],
        "items 2": [("n",), (3,), (4,), (5,)],
        "items 3": [("n",), (6,)],
    }
    assert output.notes() == [f"{tmp_path / 'a.xlsx'} has 3 sheets: one holds 3 rows"]


def test_a_full_sheet_is_not_followed_by_an_empty_one(tmp_path: Path) -> None:
    output = SmallSheets(tmp_path / "a.xlsx", [TableColumn("n")])
    for number in range(3):
        output.write({"n": number})
    output.commit()
    assert list(sheets(tmp_path / "a.xlsx")) == ["items"]
    assert output.notes() == []


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [("x" * 32_767, False), ("x" * 32_768, True), ("🍵" * 16_383 + "x", False), ("🍵" * 16_384, True)],
)
def test_a_text_that_is_too_long_for_a_cell_is_cut_and_reported(
    tmp_path: Path, text: str, is_cut: bool
) -> None:
    output = XlsxOutput(tmp_path / "a.xlsx", [TableColumn("a")])
    output.write({"a": text})
    output.write({"a": "short"})
    output.commit()
    found = read_rows(tmp_path / "a.xlsx")[0]["a"]
    if is_cut:
        assert found.endswith("…[cut]")
        assert text.startswith(found.removesuffix("…[cut]"))
        assert 32_765 <= len(found.encode("utf-16-le")) // 2 <= 32_767
        assert output.notes() == [f"1 cells of {tmp_path / 'a.xlsx'} are cut: one holds 32767 characters"]
    else:
        assert found == text
        assert output.notes() == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (-(2**53) - 1, "-9007199254740993"),
        (0, 0),
        (False, False),
        (-1.5e300, -1.5e300),
        ("", ""),
        ("a\x01b\x1bc\x00", "abc"),
    ],
)
def test_a_cell_of_a_workbook(tmp_path: Path, value: Any, found: Any) -> None:
    output = XlsxOutput(tmp_path / "a.xlsx", [TableColumn("a"), TableColumn("b")])
    output.write({"a": value, "b": "end"})
    output.commit()
    (row,) = read_rows(tmp_path / "a.xlsx")
    assert row == {"a": found, "b": "end"}
    assert type(row["a"]) is type(found)


def written_csv(path: Path, value: Any, options: OutputOptions, name: str = "a") -> str:
    output = CsvOutput(path, [TableColumn(name), TableColumn("b")], options)
    output.write({name: value, "b": "end"})
    output.commit()
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    "value",
    ["=1+1", "+SUM(A1)", "-2+3", "@x", "\t=1", "\r=1", "\n=1", "＝1", "+49 30 123", "-", "--1", "-1.5.x"],  # noqa: RUF001
)
def test_a_risky_text_gets_a_quote_in_csv_for_excel_only(tmp_path: Path, value: str) -> None:
    written_csv(tmp_path / "plain.csv", value, OutputOptions())
    assert read_rows(tmp_path / "plain.csv") == [{"a": value, "b": "end"}]
    written_csv(tmp_path / "excel.csv", value, EXCEL)
    assert read_rows(tmp_path / "excel.csv") == [{"\ufeffa": f"'{value}", "b": "end"}]


@pytest.mark.parametrize(
    ("value", "cell"),
    [(-12.5, "-12.5"), ("-12.5", "-12.5"), ("+3", "+3"), ("-1,234.50", "-1,234.50"), ("-5%", "-5%"),
     ("-1e-7", "-1e-7"), ("a=b", "a=b"), ("", ""), (None, ""), (["=x"], '["=x"]')],
)  # fmt: skip
def test_what_is_no_risk_stays_as_it_is(tmp_path: Path, value: Any, cell: str) -> None:
    written_csv(tmp_path / "excel.csv", value, EXCEL)
    assert read_rows(tmp_path / "excel.csv") == [{"\ufeffa": cell, "b": "end"}]


def test_a_column_name_is_guarded_as_well(tmp_path: Path) -> None:
    assert written_csv(tmp_path / "a.csv", "x", EXCEL, name="=a").startswith("\ufeff'=a,b\r\n")


def test_only_csv_for_excel_has_a_byte_order_mark(tmp_path: Path) -> None:
    assert written_csv(tmp_path / "a.csv", "x", EXCEL).startswith("\ufeffa,b\r\n")
    assert written_csv(tmp_path / "b.csv", "x", OutputOptions()).startswith("a,b\r\n")


def test_the_delimiter_can_be_chosen(tmp_path: Path) -> None:
    text = written_csv(tmp_path / "a.csv", "x;y,z", OutputOptions(delimiter=";"))
    assert text == 'a;b\r\n"x;y,z";end\r\n'
