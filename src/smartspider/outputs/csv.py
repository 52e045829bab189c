"""CSV (RFC 4180): a header, then one record per item."""

from __future__ import annotations

import csv
import re
from typing import Any, ClassVar

from smartspider.outputs.cells import decode_row, to_json
from smartspider.outputs.file_output import FileOutput
from smartspider.outputs.files import PendingFile

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_RISKY = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001 - the wide forms are what is meant
_SKIPPED = " \xa0\ufeff\u200b"
"""Characters that spreadsheets ignore before a formula."""
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:[.,][0-9]{1,40}){0,20}(?:[eE][+-]?[0-9]{1,4})?%?")


class CsvOutput(FileOutput):
    """Writes one UTF-8 CSV file. Null and missing values are empty cells, text is written as is, everything
    else is JSON.

    With `is_for_excel` the file starts with a byte order mark, and text that a spreadsheet would run as a
    formula is prefixed with a single quote; numbers such as -12.5 are not.
    """

    media_type: ClassVar[str] = "text/csv; charset=utf-8"
    is_compressible: ClassVar[bool] = True

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        item = decode_row(data)
        self._write_cells([_cell(item.get(name)) for name in self.names])

    def begin(self) -> None:
        """Write the header."""
        writer = csv.writer(_Utf8(self.file), delimiter=self.options.delimiter)
        self._write_row = writer.writerow
        self._is_guarded = self.options.is_for_excel
        if self._is_guarded:
            self.file.write(_BYTE_ORDER_MARK)
        self._write_cells(self.names)

    def _write_cells(self, cells: list[str]) -> None:
        self._write_row([_guarded(cell) for cell in cells] if self._is_guarded else cells)


class _Utf8:
    """The text stream of the csv module."""

    def __init__(self, file: PendingFile) -> None:
        self.file = file

    def write(self, text: str) -> None:
        self.file.write(text.encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else to_json(value)


def _guarded(cell: str) -> str:
    bare = cell.lstrip(_SKIPPED)
    return f"'{cell}" if bare.startswith(_RISKY) and not _NUMBER.fullmatch(bare) else cell
