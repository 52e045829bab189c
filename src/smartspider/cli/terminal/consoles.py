"""Consoles of rich on the standard streams. Only this module makes them: they write control sequences."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

from smartspider.cli.terminal.escapes import printable
from smartspider.cli.terminal.streams import SafeStream

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def open_console(*, to_stderr: bool = False) -> Console:
    """Return a console on standard output or standard error. What it prints must be `plain_text`, or texts of
    our own.
    """
    from rich.console import Console

    stream: Any = sys.stderr if to_stderr else sys.stdout
    file: IO[str] = stream.unescaped() if isinstance(stream, SafeStream) else stream
    return Console(file=file)


def plain_text(text: str, style: str = "") -> Text:
    """Return a text of others for a console: without markup, control characters escaped."""
    from rich.text import Text

    return Text(printable(text), style=style)
