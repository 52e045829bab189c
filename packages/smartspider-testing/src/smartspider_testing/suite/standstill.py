"""Ends a run in which nothing finishes: the stacks of all threads go to standard error, and the run is red.

A test that exceeds its own limit fails, and the others go on. This is for what no exception ends: a fixture
that waits for ever, an endless search in C code, a thread that keeps the process from ending.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator

import pytest

from smartspider_testing.waiting import scaled

STANDSTILL_S = 180.0
CLEANUP_S = 60.0
"""Time that the fixtures of a test have when it has reached its own limit."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting."""
    parser.addini(
        "standstill_s", "end the run when nothing has finished for so many seconds", default=str(STANDSTILL_S)
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch, unless somebody debugs. A worker that is ended is not replaced: the run ends."""
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = "0"
    if not config.getoption("usepdb"):
        config.pluginmanager.register(Watch(config), "standstill-watch")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Scale the time limits of all tests like the waits in them."""
    for item in items:
        if limit_s := time_limit_s(item):
            item.add_marker(pytest.mark.timeout(scaled(limit_s)), append=False)


def time_limit_s(item: pytest.Item) -> float:
    """Return the limit of a test for pytest-timeout, its own or that of all; 0 if it has none."""
    marker = item.get_closest_marker("timeout")
    if marker is not None:
        return float(marker.args[0])
    return (
        float(item.config.getini("timeout") or 0) if item.config.pluginmanager.hasplugin("timeout") else 0.0
    )


class Watch:
    """Dumps the stacks and ends the process unless it is told in time that something has finished.

    The alarm is a thread of the interpreter that needs no lock of it, so nothing that Python code does can
    keep it from coming.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._limit_s = scaled(float(config.getini("standstill_s")))
        self._is_worker = hasattr(config, "workerinput")
        # The processes of pytest-xdist end themselves, which their controller then reports.
        self._idle_s = 3 * self._limit_s if getattr(config.option, "dist", "no") != "no" else self._limit_s
        self._stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)
        self._item: pytest.Item | None = None
        self._start(self._idle_s)

    def _start(self, seconds: float) -> None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)

    def _watch_item(self) -> None:
        if self._item is not None:
            own_s = time_limit_s(self._item)
            self._start(max(self._limit_s, own_s + scaled(CLEANUP_S) if own_s else 0.0))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch a test. Between two tests a worker of pytest-xdist may wait for the others."""
        self._item = item
        self._watch_item()
        try:
            return (yield)
        finally:
            self._item = None
            if self._is_worker:
                faulthandler.cancel_dump_traceback_later()
            else:
                self._start(self._idle_s)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_exception_interact(self) -> Generator[None]:
        """Go on: pytest cancels the alarm when a test fails."""
        yield
        self._watch_item()

    def pytest_runtest_logreport(self) -> None:
        """Watch on: a part of a test has finished, here or in a worker."""
        if self._item is None and not self._is_worker:
            self._start(self._idle_s)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Watch the end of the process, too: it waits for threads."""
        self._start(self._idle_s)

    def pytest_unconfigure(self) -> None:
        """Stop in a worker of pytest-xdist: its controller lets it go when all others have finished."""
        if self._is_worker:
            faulthandler.cancel_dump_traceback_later()
