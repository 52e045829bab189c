"""Standard streams that are closed early, full, or were never open."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TextIO

import pytest

from smartspider import cli
from smartspider.cli.terminal.streams import SafeStream, coloured, safe_streams, sigterm_as_interrupt
from smartspider.core.errors import StoreUnavailable

FULL = Path("/dev/full")


@pytest.fixture
def unread() -> Iterator[TextIO]:
    """The end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w", buffering=1)
    yield stream
    stream.close()


@pytest.fixture
def full() -> Iterator[TextIO]:
    """A file on a disk without room."""
    if not FULL.exists():
        pytest.skip("needs the device that is always full")
    stream = FULL.open("w", buffering=1)
    yield stream
    stream.close()


@pytest.mark.parametrize("is_message", [True, False])
def test_what_nobody_reads_is_dropped(unread: TextIO, is_message: bool) -> None:
    stream = SafeStream(unread, is_message=is_message)
    for _ in range(3):
        assert stream.write("line\n") == 5
        stream.flush()


def test_a_message_on_a_full_disk_is_dropped(full: TextIO) -> None:
    stream = SafeStream(full, is_message=True)
    stream.write("line\n")
    stream.flush()


def test_data_on_a_full_disk_is_an_error_once(full: TextIO) -> None:
    stream = SafeStream(full, is_message=False)
    with pytest.raises(StoreUnavailable, match="standard output cannot be written: No space left on device"):
        stream.write("line\n")
    stream.flush()


def test_a_steady_stream_is_otherwise_the_stream_it_stands_for(unread: TextIO) -> None:
    stream = SafeStream(unread, is_message=True)
    assert (stream.fileno(), stream.isatty(), stream.encoding) == (unread.fileno(), False, unread.encoding)


def test_the_streams_are_what_they_were_after_the_block(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    with safe_streams():
        sys.stdout.write("row\n")
        sys.stderr.write("message\n")
    with pytest.raises(RuntimeError), safe_streams():
        raise RuntimeError
    assert (sys.stdout, sys.stderr) == before
    assert tuple(capsys.readouterr()) == ("row\n", "message\n")


def test_what_another_thread_prints_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    with safe_streams():
        thread = threading.Thread(target=sys.stdout.write, args=("noise\n",))
        thread.start()
        thread.join()
        sys.stdout.write("row\n")
    assert tuple(capsys.readouterr()) == ("row\n", "noise\n")


def test_separate_results_are_all_that_standard_output_gets() -> None:
    code = (
        "import os, subprocess\n"
        "from smartspider.cli.terminal.streams import safe_streams, separate_results\n"
        "with safe_streams():\n"
        "    print('early')\n"
        "    separate_results()\n"
        "    subprocess.run(['echo', 'noise'])\n"
        "    os.write(1, b'noise\\n')\n"
        "    print('row')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("early\nrow\n", "noise\nnoise\n")


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_was_never_open_takes_everything_and_no_file_gets_its_number(
    closed: str, tmp_path: Path
) -> None:
    code = (
        "import sys\n"
        "from smartspider.cli.terminal.streams import safe_streams\n"
        "with safe_streams(), open(sys.argv[1], 'w') as file:\n"
        "    sys.stdout.write('row'), sys.stderr.write('message'), sys.stdout.flush(), sys.stderr.flush()\n"
        "    file.write(str(file.fileno()))\n"
    )
    path = tmp_path / "file"
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, check=False)
    assert done.returncode == 0
    assert int(path.read_text()) > 2


def test_a_request_to_end_is_an_interrupt_within_the_block_only() -> None:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(KeyboardInterrupt), sigterm_as_interrupt():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_request_to_end_that_somebody_handles_or_ignores_stays_theirs() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with sigterm_as_interrupt():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


HOSTILE = {
    "escape": ("\x1b]0;title\x07", r"\u001b]0;title\u0007"),
    "clear": ("\x1b[2J", r"\u001b[2J"),
    "C1": ("\x9b31m\x85", r"\u009b31m\u0085"),
    "bidi": ("\u202egnp\u2066x\u2069\u200f", r"\u202egnp\u2066x\u2069\u200f"),
    "return": ("a\rb\x08", r"a\u000db\u0008"),
    "tags": ("\U000e0041", r"\udb40\udc41"),
    "marks": ("\ufdd0red\ufdef", r"\ufdd0red\ufdef"),
}


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("stream", [StringIO, Terminal])
def test_control_characters_of_a_text_are_shown_escaped(
    kind: str, stream: type[StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text, shown = HOSTILE[kind]
    written = stream()
    SafeStream(written, is_message=True).write(f"{text} ü\tx\n")
    assert written.getvalue() == f"{shown} ü\tx\n"


@pytest.mark.parametrize("kind", HOSTILE)
def test_data_is_escaped_on_a_terminal_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text, shown = HOSTILE[kind]
    pipe, terminal = StringIO(), Terminal()
    for stream in (pipe, terminal):
        SafeStream(stream, is_message=False).write_data(f'"{text}"\r\n')
    assert pipe.getvalue() == f'"{text}"\r\n'
    assert terminal.getvalue() == f'"{shown}"\n'


def test_our_own_colours_reach_a_terminal_and_those_of_a_page_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    stream = SafeStream(terminal, is_message=True)
    stream.write(coloured("failed", "red", terminal) + " \x1b[32mcompleted")
    assert terminal.getvalue() == "\x1b[31mfailed\x1b[0m \\u001b[32mcompleted"


def test_only_one_module_opens_consoles_and_streams_past_the_escapes() -> None:
    """Whoever prints by another way than the streams would have to remember to escape."""
    folder = Path(cli.__file__).parent
    for path in folder.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if path.relative_to(folder).as_posix() != "terminal/consoles.py":
            assert "Console(" not in source, path
            assert "rich.text" not in source, path
            assert ".unescaped()" not in source, path
        if path.name != "streams.py":
            assert not re.search(r"__std(out|err)__|os\.write\(|\.buffer\b|(?<![.\w])print\(", source), path
