"""An Excel workbook (Office Open XML)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, ClassVar

from smartspider.outputs.cells import decode_row, parse_time, strip_illegal, to_json
from smartspider.outputs.column_types import EXACT
from smartspider.outputs.file_output import FileOutput

CELL_UNITS = 32_767
"""The most UTF-16 code units in a cell."""
CUT = "…[cut]"
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "use_zip64": True,
}
_EARLIEST = "1900-03-01"
"""Spreadsheets disagree about earlier days."""
_DATE_CHARS = len(_EARLIEST)
_WIDTHS = (10, 40)


class XlsxOutput(FileOutput):
    """Writes one workbook in constant memory. Numbers and booleans are typed cells, valid texts in datetime
    columns are dates (in UTC), everything else is text and never a formula; lists and objects are JSON.

    Rows beyond the limit of a sheet continue on further sheets, each with a header. Text beyond the limit
    of a cell is cut and ends in `…[cut]`; `notes` reports how many. Integers beyond 2^53 are text;
    characters that XML forbids are removed.
    """

    media_type: ClassVar[str] = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    max_columns: ClassVar[int | None] = 16_384
    sheet_rows: ClassVar[int] = 1_048_576
    _book: Any = None

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        if self._row == self.sheet_rows:
            self._end_sheet()
            self._begin_sheet()
        item = decode_row(data)
        self._bytes += len(data)
        try:
            for place, name in enumerate(self.names):
                value = item.get(name)
                if value is not None:
                    self._write_cell(place, value)
        except OSError as error:
            raise self.file.unavailable(error) from error
        self._row += 1

    def size(self) -> int:
        """Return the size of the rows as JSON, in bytes."""
        return self._bytes

    def notes(self) -> list[str]:
        """Report the number of cut cells, and of sheets if there are several."""
        notes = []
        if self._sheets > 1:
            notes.append(f"{self.path} has {self._sheets} sheets: one holds {self.sheet_rows - 1} rows")
        if self._cut:
            notes.append(f"{self._cut} cells of {self.path} are cut: one holds {CELL_UNITS} characters")
        return notes

    def begin(self) -> None:
        """Open the workbook and its first sheet."""
        self._bytes = self._sheets = self._cut = self._row = 0
        import xlsxwriter  # type: ignore[import-untyped] # ships no types

        scratch = self.file.make_scratch()
        stream = _FailsOnce(self.file.stream)
        self._book = xlsxwriter.Workbook(stream, {**_OPTIONS, "tmpdir": str(scratch)})
        self._bold = self._book.add_format({"bold": True})
        self._moment = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._day = self._book.add_format({"num_format": "yyyy-mm-dd"})
        self._is_moment = [column.kind == "datetime" for column in self.columns]
        self._begin_sheet()

    def end(self) -> None:
        """Write the workbook."""
        self._end_sheet()
        from xlsxwriter.exceptions import FileCreateError  # type: ignore[import-untyped] # ships no types

        try:
            self._book.close()
        except FileCreateError as error:
            raise error.args[0] from error
        shutil.rmtree(self.file.scratch, ignore_errors=True)

    def release(self) -> None:
        """Close the temporary files of the sheets."""
        if self._book is not None:
            for sheet in self._book.worksheets():
                with suppress(OSError, ValueError):
                    sheet._opt_close()  # noqa: SLF001 - there is no other way to leave a workbook unwritten

    def _begin_sheet(self) -> None:
        self._sheets += 1
        name = "items" if self._sheets == 1 else f"items {self._sheets}"
        self._sheet = self._book.add_worksheet(name, worksheet_class=_plain_sheet())
        self._sheet.freeze_panes(1, 0)
        least, most = _WIDTHS
        for place, label in enumerate(self.names):
            width = 19 if self._is_moment[place] else max(len(label) + 3, 14)
            self._sheet.set_column(place, place, max(least, min(most, width)))
            self._sheet.write_string(0, place, self._fitted(label), self._bold)
        self._row = 1

    def _end_sheet(self) -> None:
        if self.names:
            self._sheet.autofilter(0, 0, self._row - 1, len(self.names) - 1)

    def _write_cell(self, place: int, value: Any) -> None:
        match value:
            case str():
                if not (self._is_moment[place] and self._write_moment(place, value)):
                    self._sheet.write_string(self._row, place, self._fitted(value))
            case bool():
                self._sheet.write_boolean(self._row, place, value)
            case float():
                self._sheet.write_number(self._row, place, value)
            case int() if -EXACT <= value <= EXACT:
                self._sheet.write_number(self._row, place, value)
            case _:
                self._sheet.write_string(self._row, place, self._fitted(to_json(value)))

    def _write_moment(self, place: int, text: str) -> bool:
        moment = parse_time(text)
        if moment is None or moment.date().isoformat() < _EARLIEST:
            return False
        form = self._day if len(text) == _DATE_CHARS else self._moment
        self._sheet.write_datetime(self._row, place, moment.replace(tzinfo=None), form)
        return True

    def _fitted(self, text: str) -> str:
        text = strip_illegal(text)
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")  # cells use line feeds
        # Only long texts are worth counting exactly.
        if len(text) * 2 > CELL_UNITS:
            units = text.encode("utf-16-le")
            if len(units) > CELL_UNITS * 2:
                self._cut += 1
                return units[: (CELL_UNITS - len(CUT)) * 2].decode("utf-16-le", "ignore") + CUT
        return text


class _FailsOnce:
    """A stream that raises on the first failure and then ignores all writes: a discarded archive still writes
    its end.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._place: int | None = None
        """The position the stream would have if it had not failed; None before a failure."""

    def write(self, data: bytes) -> int:
        return self._tried(lambda: self._stream.write(data), len(data), moves=True)

    def seek(self, place: int) -> int:
        if self._place is not None:
            self._place = place
        return self._tried(lambda: self._stream.seek(place), place)

    def tell(self) -> int:
        return self._tried(self._stream.tell, self._place or 0)

    def flush(self) -> None:
        self._tried(lambda: self._stream.flush() is None, 0)

    def _tried(self, act: Callable[[], int], otherwise: int, *, moves: bool = False) -> int:
        if self._place is not None:
            self._place += otherwise if moves else 0
            return otherwise
        try:
            return act()
        except OSError:
            self._place = 0
            raise


def _plain_sheet() -> type:
    from xlsxwriter.worksheet import Worksheet  # type: ignore[import-untyped] # ships no types

    class PlainSheet(Worksheet):  # type: ignore[misc] # ships no types
        """A sheet that writes text which looks like the library's markup as plain text."""

        def _xml_rich_inline_string(self, string: str, attributes: Any = ()) -> None:
            self._xml_inline_string(string, preserve=True, attributes=attributes)

    return PlainSheet
