"""Items as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from smartspider.sinks.cells import decode_row, legal_text, text_of
from smartspider.sinks.file_sink import FileSink

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "\\<", "\t": " "})


class MarkdownSink(FileSink):
    """A `Sink` into one UTF-8 file: a table as GitHub reads it. Null is empty, lists and objects are JSON,
    line breaks are `<br>`; bars, backslashes and tags of the values are escaped, control characters left out.
    """

    is_compressible: ClassVar[bool] = True

    def write_encoded(self, data: bytes) -> None:
        """Take one row as the store keeps it."""
        item = decode_row(data)
        self._line(_cell(item.get(name)) for name in self._names)

    def _begin(self) -> None:
        self._line(_cell(label) for label in self._names)
        self._line("---" for _ in self._names or ("",))

    def _line(self, cells: Iterable[str]) -> None:
        self._file.write(f"| {' | '.join(cells)} |\n".encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = legal_text(text_of(value)).translate(_ESCAPES)
    return text if text.isprintable() else "<br>".join(text.strip("\r\n").splitlines())
