"""The stages of long work are shown on a terminal only."""

from __future__ import annotations

import io
import sys
import threading
from contextvars import copy_context
from threading import Event

import pytest

from smartspider.cli.terminal.stages import shown_stages
from smartspider.cli.terminal.streams import set_verbosity
from smartspider_testing.waiting import WAIT_S


class Screen(io.StringIO):
    """A terminal that tells when something was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "reading" in text:
            self.drawn.set()
        return super().write(text)


def on_screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A terminal as standard error. Not a fixture: pytest sets standard error when the test itself begins."""
    made = Screen()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    return made


def will_draw() -> bool:
    """Report a stage; return True if it is drawn after a while."""
    before = set(threading.enumerate())  # a timer that was cancelled may still be ending
    with shown_stages(patience_s=60.0) as report:
        report("reading urls.txt")
        return any(isinstance(thread, threading.Timer) for thread in set(threading.enumerate()) - before)


def test_the_last_stage_is_drawn_on_a_terminal_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_screen(monkeypatch)
    with shown_stages(patience_s=0.0) as report:
        report("reading urls.txt")
        assert screen.drawn.wait(WAIT_S)
    before = screen.getvalue()
    report("too late")
    assert screen.getvalue() == before


def test_quick_work_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on_screen(monkeypatch)
    assert will_draw()
    assert screen.getvalue() == ""


def test_quiet_commands_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def quiet() -> bool:
        set_verbosity(-1)
        return will_draw()

    on_screen(monkeypatch)
    assert not copy_context().run(quiet)


def test_pipes_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    on_screen(monkeypatch)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not will_draw()
