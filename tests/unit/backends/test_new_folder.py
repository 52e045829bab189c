"""Processes that open a data folder that is not there yet, at the same moment."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from smartspider_testing.waiting import running

PROCESSES = 6
FOLDERS = 100
"""In one of some thirty folders two processes meet at the switch to a write-ahead log."""
OPEN = """
import sys
from pathlib import Path
from smartspider.core.errors import StoreUnavailable
from smartspider.wiring.opening import open_folder
for line in sys.stdin:
    try:
        with open_folder(Path(line.strip())):
            print("opened", flush=True)
    except StoreUnavailable as error:
        print(error, flush=True)
"""


def test_all_processes_that_create_a_folder_at_once_can_use_it(tmp_path: Path) -> None:
    with ExitStack() as stack:
        command = [sys.executable, "-c", OPEN]
        processes = [
            stack.enter_context(
                running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            )
            for _ in range(PROCESSES)
        ]
        pipes = [(one.stdin, one.stdout) for one in processes if one.stdin and one.stdout]
        for number in range(FOLDERS):
            for asked, _ in pipes:
                asked.write(f"{tmp_path / str(number)}\n")
            assert [answers.readline() for _, answers in pipes] == ["opened\n"] * PROCESSES
