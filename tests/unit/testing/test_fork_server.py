"""Programs that a fork server starts are as if they had been started by themselves."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from smartspider_testing.suite.fork_server import LOCALE, can_fork, fork_server

PROGRAM = """
import json, os, signal, sys, time
print(json.dumps({
    "arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ), "name": __name__,
    "session": os.getsid(0) == os.getpid(), "parent": os.getppid(), "stdin": sys.stdin.read(),
    "files": sorted(os.listdir("/proc/self/fd")), "zone": time.tzname[0],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
}))
print("said", file=sys.stderr)
sys.exit(7)
"""


def start(folder: Path, program: str, *arguments: str, **environment: str) -> int:
    (folder / "program.py").write_text(program)
    (folder / "in").write_text("given")
    with (
        (folder / "in").open("rb") as given,
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
    ):
        return fork_server().start(
            "program",
            arguments,
            folder=folder,
            environment={"LANG": LOCALE, **environment},
            streams=(given.fileno(), out.fileno(), err.fileno()),
        )


def test_a_program_is_alone_with_what_it_was_given(tmp_path: Path) -> None:
    pid = start(tmp_path, PROGRAM, "a", "ü b", TZ="Asia/Tokyo", HOME="/nowhere")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert (tmp_path / "err").read_text() == "said\n"
    seen = json.loads((tmp_path / "out").read_text())
    opened = seen.pop("files")
    assert opened == ["0", "1", "2", "3"]  # the fourth lists them
    assert seen == {
        "arguments": ["a", "ü b"],
        "folder": str(tmp_path),
        "environment": {"LANG": LOCALE, "TZ": "Asia/Tokyo", "HOME": "/nowhere"},
        "name": "__main__",
        "session": True,
        "parent": os.getpid(),
        "stdin": "given",
        "zone": "JST",
        "interrupt": True,
    }


def test_a_program_can_be_killed_alone(tmp_path: Path) -> None:
    pid = start(tmp_path, "import time\ntime.sleep(600)")
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    again = start(tmp_path, "")
    assert os.waitpid(again, 0) == (again, 0)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"LANG": "de_DE.UTF-8"},
        {"LANG": LOCALE, "PYTHONPATH": "/changed"},
        {"LANG": LOCALE, "LD_PRELOAD": "x"},
    ],
)
def test_what_python_reads_at_its_start_is_not_forked(environment: dict[str, str]) -> None:
    assert not can_fork(environment)
    assert can_fork({"LANG": LOCALE, "HOME": "/"})
