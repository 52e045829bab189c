"""Rows over several files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.outputs.readers import read_rows

from smartspider.core.errors import RequestInvalid, StoreUnavailable
from smartspider.core.items.columns import TableColumn
from smartspider.interfaces.output import Output, OutputOptions
from smartspider.outputs.csv import CsvOutput
from smartspider.outputs.split import SplitOutput
from smartspider.plugins.kinds import OUTPUT
from smartspider.services.results.outputs import check_outputs, open_output
from smartspider_testing.waiting import WAIT_S

COLUMNS = [TableColumn("n", "integer"), TableColumn("text")]
TWO = OutputOptions(split_rows=2)


def export(path: Path, rows: int, options: OutputOptions = TWO, text: str = "x") -> Output:
    output = open_output(path, COLUMNS, options)
    for number in range(rows):
        output.write({"n": number, "text": text})
    output.commit()
    return output


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [*OUTPUT.built_in, "jsonl.gz", "csv.zst"])
def test_every_part_is_a_whole_file(tmp_path: Path, suffix: str) -> None:
    output = export(tmp_path / f"rows.{suffix}", 5)
    parts = [tmp_path / f"rows-{number:06d}.{suffix}" for number in (1, 2, 3)]
    assert names(tmp_path) == [part.name for part in parts]
    assert output.files() == list(map(str, parts))
    found = [[int(row["n"]) for row in read_rows(part)] for part in parts]
    assert found == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(("rows", "parts"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)])
def test_there_is_at_least_one_part_and_never_an_empty_one_more(
    tmp_path: Path, rows: int, parts: int
) -> None:
    export(tmp_path / "rows.csv", rows)
    assert len(names(tmp_path)) == parts
    assert (tmp_path / "rows-000001.csv").read_text().startswith("n,text\n")


def test_a_new_part_begins_when_one_has_reached_the_size(tmp_path: Path) -> None:
    export(tmp_path / "rows.jsonl", 10, OutputOptions(split_mb=0.001), text="x" * 400)
    sizes = [path.stat().st_size for path in sorted(tmp_path.iterdir())]
    assert len(sizes) == 4
    assert all(1_000 <= size < 1_500 for size in sizes[:-1])


def test_size_and_rows_can_be_limited_together(tmp_path: Path) -> None:
    export(tmp_path / "rows.jsonl", 6, OutputOptions(split_mb=1, split_rows=3))
    assert len(names(tmp_path)) == 2


def test_nothing_is_visible_before_commit_and_abort_leaves_nothing(tmp_path: Path) -> None:
    output = open_output(tmp_path / "new" / "rows.csv", COLUMNS, TWO)
    for number in range(5):
        output.write({"n": number})
    assert all(name.startswith(".") for name in names(tmp_path / "new"))
    output.abort()
    assert names(tmp_path) == []


def test_parts_of_an_earlier_longer_export_go_after_the_commit(tmp_path: Path) -> None:
    export(tmp_path / "rows.csv", 9)
    others = ["rows-000007.csv", "rows-000004.json", "rows-202401.csv", "rows.csv", "my-rows-000004.csv"]
    for other in others:
        (tmp_path / other).touch()
    output = open_output(tmp_path / "rows.csv", COLUMNS, TWO)
    output.write({"n": 1})
    output.seal()
    assert {f"rows-{number:06d}.csv" for number in range(1, 6)} < set(names(tmp_path))
    output.commit()
    assert names(tmp_path) == sorted(["rows-000001.csv", *others])


def test_an_aborted_export_leaves_the_earlier_parts(tmp_path: Path) -> None:
    export(tmp_path / "rows.csv", 5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    output = open_output(tmp_path / "rows.csv", COLUMNS, TWO)
    output.write({"n": 1})
    output.abort()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_a_killed_export_left_of_any_part_goes_at_the_next_one(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(WAIT_S)
    for number in (1, 2, 77):
        (tmp_path / f".rows-{number:06d}.csv.tmp-{gone.pid}").touch()
    kept = f".rows-000078.csv.tmp-{os.getppid()}"
    (tmp_path / kept).touch()
    export(tmp_path / "rows.csv", 1)
    assert names(tmp_path) == [kept, "rows-000001.csv"]


def test_all_parts_are_on_disk_before_the_first_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = open_output(tmp_path / "rows.csv", COLUMNS, TWO)
    for number in range(5):
        output.write({"n": number})

    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)  # a disk cannot be filled here
    with pytest.raises(StoreUnavailable, match="No space left"):
        output.commit()
    assert all(name.startswith(".") for name in names(tmp_path))
    output.abort()
    assert names(tmp_path) == []


def test_a_full_part_is_put_on_disk_and_closed_before_the_next_begins(tmp_path: Path) -> None:
    class Part(CsvOutput):
        def is_closed(self) -> bool:
            return self.file.stream.closed

    parts: list[Part] = []

    def open_part(path: Path) -> Part:
        parts.append(Part(path, COLUMNS, TWO))
        return parts[-1]

    output = SplitOutput(tmp_path / "rows.csv", open_part, TWO)
    for number in range(5):
        output.write({"n": number})
    assert [part.is_closed() for part in parts] == [True, True, False]
    output.abort()


def test_there_are_not_more_parts_than_numbers(tmp_path: Path) -> None:
    class FewParts(SplitOutput):
        max_parts = 9

    options = OutputOptions(split_rows=1)
    output = FewParts(tmp_path / "rows.csv", lambda part: CsvOutput(part, COLUMNS, options), options)
    for number in range(9):
        output.write({"n": number})
    with pytest.raises(StoreUnavailable, match="10 files"):
        output.write({"n": 9})
    output.abort()
    assert names(tmp_path) == []


def test_the_check_looks_at_the_first_part(tmp_path: Path) -> None:
    (tmp_path / "rows-000001.csv").mkdir()
    check_outputs([tmp_path / "rows.csv"])
    with pytest.raises(RequestInvalid, match="is a folder"):
        check_outputs([tmp_path / "rows.csv"], TWO)
