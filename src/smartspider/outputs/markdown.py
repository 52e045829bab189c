"""A Markdown table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from smartspider.outputs.cells import decode_row, strip_illegal, to_text
from smartspider.outputs.file_output import FileOutput

_ESCAPES = str.maketrans({"\\": "\\\\", "|": "\\|", "<": "\\<", "\t": " "})


class MarkdownOutput(FileOutput):
    """Writes one UTF-8 file with a GitHub-flavoured table. Null is empty, lists and objects are JSON, line
    breaks are `<br>`; bars, backslashes and tags in values are escaped, control characters removed.
    """

    media_type: ClassVar[str] = "text/markdown; charset=utf-8"
    is_compressible: ClassVar[bool] = True

    def write_encoded(self, data: bytes) -> None:
        """Write one row in stored form."""
        item = decode_row(data)
        self._line(_cell(item.get(name)) for name in self.names)

    def begin(self) -> None:
        """Write the header."""
        self._line(_cell(label) for label in self.names)
        self._line("---" for _ in self.names or ("",))

    def _line(self, cells: Iterable[str]) -> None:
        self.file.write(f"| {' | '.join(cells)} |\n".encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = strip_illegal(to_text(value)).translate(_ESCAPES)
    return text if text.isprintable() else "<br>".join(text.strip("\r\n").splitlines())
