"""Standard streams that are closed early, full, or were never open."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from smartspider.cli.terminal.streams import SafeStream, safe_streams, sigterm_as_interrupt
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
