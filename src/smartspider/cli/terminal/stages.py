"""The stages of work that may take seconds, shown on a terminal until it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

from smartspider.cli.terminal.consoles import open_console, plain_text
from smartspider.cli.terminal.streams import is_quiet

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

PATIENCE_S = 0.4
"""Work that takes less time shows nothing."""

Report = Callable[[str], None]


@contextmanager
def shown_stages(patience_s: float = PATIENCE_S) -> Iterator[Report]:
    """Show the stage that was reported last, on a terminal; nothing elsewhere or in quiet mode."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _text: None
        return
    display = _StageDisplay()
    timer = Timer(patience_s, display.start)
    timer.daemon = True
    timer.start()
    try:
        yield display.report
    finally:
        timer.cancel()
        display.stop()


class _StageDisplay:
    """A spinner with a text. `start` runs in another thread."""

    def __init__(self) -> None:
        self._text = ""
        self._live: Live | None = None
        self._is_over = False
        self._lock = Lock()

    def report(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._live is not None:
                self._live.update(self._spinner())

    def start(self) -> None:
        from rich.live import Live

        with self._lock:
            if not self._is_over:
                self._live = Live(
                    self._spinner(),
                    console=open_console(to_stderr=True),
                    transient=True,
                    redirect_stdout=False,  # standard output is data, and this is another thread
                    redirect_stderr=False,
                )
                self._live.start(refresh=True)

    def stop(self) -> None:
        with self._lock:
            self._is_over = True
            if self._live is not None:
                self._live.stop()
                self._live = None

    def _spinner(self) -> Spinner:
        from rich.spinner import Spinner

        return Spinner("dots", plain_text(self._text))
