"""Choosing an output by its name, and refusing a bad one before a crawl starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from smartspider.core.errors import NotBuilt, RequestInvalid, StoreUnavailable
from smartspider.core.items.columns import TableColumn
from smartspider.outputs.files import COMPRESSIONS
from smartspider.plugins.kinds import OUTPUT
from smartspider.services.results.outputs import check_outputs, open_output


def opened(path: Path) -> None:
    open_output(path, [TableColumn("a")]).abort()


def checked(path: Path) -> None:
    check_outputs([path])


refusing = pytest.mark.parametrize("act", [checked, opened], ids=["check", "open"])
unwritable = pytest.mark.parametrize(
    ("act", "error"), [(checked, RequestInvalid), (opened, StoreUnavailable)], ids=["check", "open"]
)


def test_the_suffix_chooses_the_format_in_any_case(tmp_path: Path) -> None:
    for name in ("items.jsonl", "items.CSV"):
        check_outputs([tmp_path / name])
        output = open_output(tmp_path / name, [TableColumn("a")])
        output.write({"a": 1})
        output.commit()
    assert (tmp_path / "items.jsonl").read_text() == '{"a":1}\n'
    assert (tmp_path / "items.CSV").read_text() == "a\n1\n"


@refusing
@pytest.mark.parametrize(
    ("name", "what"), [("items.doc", ".doc"), ("items", "no suffix"), ("items.gz", "no suffix")]
)
def test_an_unknown_suffix_is_a_usage_error_that_names_the_known_ones(
    tmp_path: Path, act: Callable[[Path], None], name: str, what: str
) -> None:
    with pytest.raises(RequestInvalid) as caught:
        act(tmp_path / name)
    assert what in caught.value.message
    named = set(re.findall(r"\.(\w+)", caught.value.hint))
    assert named == {*OUTPUT.built_in, *COMPRESSIONS}


@unwritable
def test_a_folder_is_refused(tmp_path: Path, act: Callable[[Path], None], error: type[Exception]) -> None:
    (tmp_path / "items.jsonl").mkdir()
    with pytest.raises(error, match="is a folder"):
        act(tmp_path / "items.jsonl")


@unwritable
def test_a_pipe_is_refused(tmp_path: Path, act: Callable[[Path], None], error: type[Exception]) -> None:
    os.mkfifo(tmp_path / "items.jsonl")
    with pytest.raises(error, match="not a regular file"):
        act(tmp_path / "items.jsonl")


@unwritable
def test_a_file_in_the_place_of_a_folder_is_refused(
    tmp_path: Path, act: Callable[[Path], None], error: type[Exception]
) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(error, match=r"not a folder|Not a directory"):
        act(tmp_path / "taken" / "deep" / "items.csv")


@unwritable
def test_a_name_that_is_too_long_is_refused(
    tmp_path: Path, act: Callable[[Path], None], error: type[Exception]
) -> None:
    with pytest.raises(error, match="too long"):
        act(tmp_path / f"{'x' * 300}.csv")


@unwritable
def test_a_folder_that_takes_no_files_is_refused(act: Callable[[Path], None], error: type[Exception]) -> None:
    with pytest.raises(error, match="cannot be written") as caught:
        act(Path("/proc/items.csv"))  # for root, too
    assert "choose" in caught.value.hint  # type: ignore[attr-defined] # both are errors with a hint


def test_the_check_leaves_the_disk_as_it_was(tmp_path: Path) -> None:
    check_outputs([tmp_path / "new" / "items.csv"])
    assert list(tmp_path.iterdir()) == []


def test_one_file_may_be_named_only_once(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with pytest.raises(RequestInvalid, match=r"rows\.csv .*twice"):
        check_outputs([tmp_path / "rows.csv", tmp_path / "below" / ".." / "rows.csv"])


@refusing
@pytest.mark.parametrize(
    ("name", "instead"),
    [("a.xlsx.gz", "a.xlsx"), ("a.b.sqlite.xz", "a.b.sqlite"), ("a.parquet.zst", "a.parquet")],
)
def test_what_cannot_be_compressed_further_is_refused(
    tmp_path: Path, act: Callable[[Path], None], name: str, instead: str
) -> None:
    with pytest.raises(RequestInvalid, match="compressed") as caught:
        act(tmp_path / name)
    assert caught.value.hint.endswith(f": {tmp_path / instead}")
    assert "\n" not in caught.value.message


@refusing
def test_a_format_whose_package_is_missing_is_refused_with_what_installs_it(
    tmp_path: Path, act: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(NotBuilt, match="needs the package pyarrow, which is not installed") as caught:
        act(tmp_path / "items.parquet")
    assert caught.value.hint == 'pip install "smartspider-crawler[parquet]"'
    act(tmp_path / "items.xlsx")


def test_checking_does_not_load_the_libraries_of_a_format(tmp_path: Path) -> None:
    names = [str(tmp_path / f"items.{suffix}") for suffix in OUTPUT.built_in]
    code = (
        "import sys; from pathlib import Path;"
        "from smartspider.services.results.outputs import check_outputs;"
        f"check_outputs([Path(name) for name in {names}]);"
        "print([name for name in ('pyarrow', 'xlsxwriter', 'sqlite3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("suffix", "most"), [("xlsx", 16_384), ("sqlite", 2_000)])
def test_more_columns_than_a_format_holds_are_refused_before_anything_is_written(
    tmp_path: Path, suffix: str, most: int
) -> None:
    columns = [TableColumn(f"c{number}") for number in range(most + 1)]
    path = tmp_path / f"items.{suffix}"
    check_outputs([path], columns=columns[:-1])
    for act in (lambda: check_outputs([path], columns=columns), lambda: open_output(path, columns)):
        with pytest.raises(RequestInvalid, match=f"{most + 1} columns.* {most}$"):
            act()
    assert list(tmp_path.iterdir()) == []
