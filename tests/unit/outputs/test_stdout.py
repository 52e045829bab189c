"""Rows on standard output: bytes whatever the locale, and no harm by a reader that leaves."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from smartspider.core.errors import RequestInvalid, StoreUnavailable
from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.output import PLAIN, OutputOptions
from smartspider.outputs.stdout import STDOUT, StdoutFile
from smartspider.services.results.outputs import check_outputs, open_output

COLUMNS = (TableColumn("name"),)


@pytest.fixture
def unread() -> Iterator[io.TextIOWrapper]:
    """The end of a pipe that nobody reads, without a buffer."""
    reading, writing = os.pipe()
    os.close(reading)
    stream = io.TextIOWrapper(os.fdopen(writing, "wb", buffering=0), write_through=True)
    yield stream
    stream.close()


def test_rows_are_utf_8_in_every_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output = open_output(STDOUT, COLUMNS)
    output.write({"name": "茶"})
    output.commit()
    assert raw.getvalue() == '{"name":"茶"}\n'.encode()


def test_a_stream_of_text_takes_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr("sys.stdout", text)
    StdoutFile().write("é".encode())
    assert text.getvalue() == "é"


def test_a_reader_that_left_is_not_an_error(
    monkeypatch: pytest.MonkeyPatch, unread: io.TextIOWrapper
) -> None:
    monkeypatch.setattr("sys.stdout", unread)
    file = StdoutFile()
    file.write(b"one")
    file.write(b"two")
    assert file.size() == 6


def test_a_full_disk_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs the device that is always full")
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(full))
        with pytest.raises(StoreUnavailable, match="standard output"):
            StdoutFile().write(b"one")


@pytest.mark.parametrize(
    ("paths", "options"),
    [
        ((STDOUT,), OutputOptions(split_rows=2)),
        ((STDOUT,), OutputOptions(split_mb=1)),
        ((STDOUT,) * 2, PLAIN),
    ],
)
def test_standard_output_is_one_stream(paths: tuple[Path, ...], options: OutputOptions) -> None:
    with pytest.raises(RequestInvalid):
        check_outputs(paths, options)
    check_outputs((STDOUT, Path("rows.csv")))
