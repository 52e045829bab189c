"""Text of pages on a terminal: control characters are shown, never obeyed."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest
from tests.acceptance.workshop import Workshop, title_task, written_site

from smartspider_testing.waiting import WAIT_S, running

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(120)]

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066"
OBEYED = re.compile("[\x07\x80-\x9f\u202a-\u202e\u2066-\u2069]|\x1b(?!\\[[0-9;?]*[mhlKAGJ])|\x1b\\[2J")
"""Sequences not meant for a terminal; rich writes colours, hides the cursor and erases its own lines."""
TITLE = HOSTILE.replace("\x1b", "&#x1b;").replace("\x07", "&#7;")
ROUTES: dict[str, list[dict[str, Any]]] = {
    "/": [{"body": f"<h1>{TITLE} red</h1><a class='child' href='/x?q={TITLE}'>x</a>"}],
    "/bad": [{"status": 302, "headers": {"Location": "ftp://\x1b[2J\x9b"}}],
}


def on_a_terminal(workshop: Workshop, *arguments: str) -> str:
    """Run a command on a terminal; return the screen."""
    ours, theirs = pty.openpty()
    with running(
        [sys.executable, "-m", "smartspider", *arguments],
        cwd=workshop.folder,
        env={"LANG": "C.UTF-8", "TERM": "xterm", "HOME": str(workshop.folder), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        screen = b""
        try:
            while True:
                screen += os.read(ours, 65536)
        except OSError:  # the other end is closed
            process.wait(timeout=WAIT_S)
            return screen.decode()
        finally:
            os.close(ours)


def test_no_command_lets_a_page_write_to_the_terminal(workshop: Workshop) -> None:
    with written_site(workshop.folder, routes=ROUTES) as site:
        workshop.write(title_task(site.url("/"), site.url("/bad")))
        url = site.url("/")
        screens = {
            "fetch": on_a_terminal(workshop, "fetch", url, "--ignore-robots"),
            "extract": on_a_terminal(workshop, "extract", url, "h1", "--ignore-robots"),
            "dry-run": on_a_terminal(workshop, "dry-run", "task.json"),
            "crawl": on_a_terminal(workshop, "crawl", "task.json", "-o", "-"),
            "results": on_a_terminal(workshop, "results", "show"),
            "why": on_a_terminal(workshop, "why", site.url("/bad")),
        }
        raw = workshop.run("extract", url, "h1", "--ignore-robots").expect(0)
    found = {name: OBEYED.findall(screen) for name, screen in screens.items()}
    assert not any(found.values()), found
    for name in ("extract", "dry-run", "crawl", "results"):
        assert "\\u202egnp" in screens[name], screens[name]
    assert "\u202egnp" in raw.out  # data on a pipe is as it came
