"""Files read back with libraries that had no part in writing them."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, by its suffix."""
    suffix = path.suffix.removeprefix(".")
    if suffix in _UNPACK:
        return _READ[Path(path.stem).suffix.removeprefix(".")](_UNPACK[suffix](path.read_bytes()))
    if suffix in _READ:
        return _READ[suffix](path.read_bytes())
    return {"parquet": _parquet, "xlsx": _xlsx, "sqlite": _sqlite, "db": _sqlite}[suffix](path)


def sheets(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The cells of a workbook, sheet by sheet, headers included."""
    import openpyxl  # type: ignore[import-untyped] # ships no types

    book = openpyxl.load_workbook(path)
    return {sheet.title: [tuple(row) for row in sheet.iter_rows(values_only=True)] for sheet in book}


def _json_lines(data: bytes) -> list[Row]:
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def _json(data: bytes) -> list[Row]:
    rows: list[Row] = json.loads(data)
    return rows


def _csv(data: bytes) -> list[Row]:
    csv.field_size_limit(100_000_000)
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def _markdown(data: bytes) -> list[Row]:
    lines = [re.findall(r"\| ((?:[^|\\]+|\\.)*) (?=\|)", line) for line in data.decode().split("\n")[:-1]]
    header, rule, *rows = lines
    assert all(cell == "---" for cell in rule)
    return [dict(zip(header, row, strict=True)) for row in rows]


def _xml(data: bytes) -> list[Row]:
    root = ElementTree.fromstring(data)
    assert root.tag == "items"
    return [{field.get("name", field.tag): xml_value(field) for field in item} for item in root]


def xml_value(element: ElementTree.Element) -> Any:
    """Elements as plain values: everything but null, lists and objects is text."""
    if element.get("null") == "true":
        return None
    inner = list(element)
    if not inner:
        return element.text or ""
    if all(one.tag == "value" for one in inner):
        return [xml_value(one) for one in inner]
    return {one.get("name", one.tag): xml_value(one) for one in inner}


def _parquet(path: Path) -> list[Row]:
    from pyarrow import parquet  # type: ignore[import-untyped] # ships no types

    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows


def _xlsx(path: Path) -> list[Row]:
    rows: list[Row] = []
    for sheet in sheets(path).values():
        header, *cells = sheet or [()]
        rows += [dict(zip(map(str, header), row, strict=True)) for row in cells]
    return rows


def _sqlite(path: Path) -> list[Row]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return [dict(row) for row in connection.execute("SELECT * FROM items ORDER BY _rowid_")]
    finally:
        connection.close()


def _unzstd(data: bytes) -> bytes:
    from backports import zstd

    return zstd.decompress(data)


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
    "zst": _unzstd,
}
_READ: dict[str, Callable[[bytes], list[Row]]] = {
    "jsonl": _json_lines,
    "json": _json,
    "csv": _csv,
    "md": _markdown,
    "xml": _xml,
}
