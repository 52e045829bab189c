"""What XML and Markdown make of values that are not plain text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.unit.outputs.readers import read_rows

from smartspider.core.items.columns import TableColumn
from smartspider.outputs import xml
from smartspider.outputs.markdown import MarkdownOutput
from smartspider.outputs.xml import XmlOutput


def written(output: XmlOutput | MarkdownOutput, path: Path, *items: dict[str, Any]) -> str:
    for item in items:
        output.write(item)
    output.commit()
    return path.read_bytes().decode()


def test_xml_has_elements_for_objects_and_values_for_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    text = written(
        XmlOutput(path, [TableColumn("a"), TableColumn("b")]),
        path,
        {"a": {"x": 1, "y": [True, None]}, "b": "<&>"},
    )
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<items>\n'
        '<item><a><x>1</x><y><value>true</value><value null="true"/></y></a><b>&lt;&amp;&gt;</b></item>\n'
        "</items>\n"
    )


def test_a_key_that_is_no_xml_name_is_made_one_and_kept_as_an_attribute(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    keys = ["价格", "a b", "1st", "", "xml", "XMLish", "a:b", 'q"<\n', "-x", "🍵", "é"]
    written(XmlOutput(path, [TableColumn(key) for key in keys]), path, dict.fromkeys(keys, "v"))
    (item,) = ElementTree.fromstring(path.read_bytes())
    assert [field.tag for field in item] == [
        *("价格", "a_b", "_1st", "_", "_xml", "_XMLish", "a_b_2", "q___", "_-x", "__2", "é"),
    ]
    assert [field.get("name", field.tag) for field in item] == keys


def test_every_letter_that_is_kept_is_one_for_the_parser() -> None:
    letters = [chr(code) for code in range(0x10000) if re.match(f"[{xml.NAME_LETTERS}]", chr(code))]
    assert len(letters) > 30_000
    body = "".join(f"<{letter}/>" for letter in letters)
    assert len(ElementTree.fromstring(f"<items>{body}</items>")) == len(letters)


def test_very_deep_values_are_json_at_some_depth_of_xml(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    deep: Any = "end"
    for _ in range(60):
        deep = [deep]
    text = written(XmlOutput(path, [TableColumn("a")]), path, {"a": deep})
    assert text.count("<value>") == 50
    assert '[[[[[[[[[["end"]]]]]]]]]]' in text


def test_a_carriage_return_survives_xml(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    written(XmlOutput(path, [TableColumn("a")]), path, {"a": "x\r\ny\rz"})
    assert read_rows(path) == [{"a": "x\r\ny\rz"}]


def test_a_markdown_table(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    rows: list[dict[str, Any]] = [{"a": "x|y\\z", "b": "one\ntwo\r\nthree"}, {"a": None, "b": ["<b>", 1]}]
    assert written(
        MarkdownOutput(path, [TableColumn("a"), TableColumn("b|c"), TableColumn("b")]), path, *rows
    ) == (
        "| a | b\\|c | b |\n"
        "| --- | --- | --- |\n"
        "| x\\|y\\\\z |  | one<br>two<br>three |\n"
        '|  |  | ["\\<b>",1] |\n'
    )
