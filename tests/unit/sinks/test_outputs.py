"""Choosing an output by its name, and refusing a bad one before a crawl starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from smartspider.core.errors import NotBuilt, StoreUnavailable, TaskInvalid
from smartspider.services.outputs import check_outputs, open_output


def opened(path: Path) -> None:
    open_output(path, ["a"]).abort()


def checked(path: Path) -> None:
    check_outputs([path])


refusing = pytest.mark.parametrize("act", [checked, opened], ids=["check", "open"])


def test_the_suffix_chooses_the_format_in_any_case(tmp_path: Path) -> None:
    for name in ("items.jsonl", "items.CSV"):
        check_outputs([tmp_path / name])
        sink = open_output(tmp_path / name, ["a"])
        sink.write({"a": 1})
        sink.commit()
    assert (tmp_path / "items.jsonl").read_text() == '{"a":1}\n'
    assert (tmp_path / "items.CSV").read_text() == "a\n1\n"


@refusing
@pytest.mark.parametrize("suffix", ["json", "xlsx", "parquet", "xml"])
def test_a_format_that_is_not_built_is_refused_in_one_line(
    tmp_path: Path, act: Callable[[Path], None], suffix: str
) -> None:
    with pytest.raises(NotBuilt, match=rf"writing \.{suffix} is not built yet") as caught:
        act(tmp_path / f"items.{suffix}")
    assert "\n" not in caught.value.message
    assert caught.value.hint == "a name that ends in .csv or .jsonl"


@refusing
@pytest.mark.parametrize(
    ("name", "what"), [("items.doc", "has the unknown suffix .doc"), ("items", "has no suffix")]
)
def test_an_unknown_suffix_is_a_usage_error_that_names_the_known_ones(
    tmp_path: Path, act: Callable[[Path], None], name: str, what: str
) -> None:
    with pytest.raises(TaskInvalid) as caught:
        act(tmp_path / name)
    assert what in caught.value.message
    assert caught.value.hint == "a name that ends in .csv or .jsonl"


@refusing
def test_a_folder_is_refused(tmp_path: Path, act: Callable[[Path], None]) -> None:
    (tmp_path / "items.jsonl").mkdir()
    with pytest.raises(StoreUnavailable, match="is a folder"):
        act(tmp_path / "items.jsonl")


@refusing
def test_a_pipe_is_refused(tmp_path: Path, act: Callable[[Path], None]) -> None:
    os.mkfifo(tmp_path / "items.jsonl")
    with pytest.raises(StoreUnavailable, match="not a regular file"):
        act(tmp_path / "items.jsonl")


@refusing
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, act: Callable[[Path], None]) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(StoreUnavailable, match=r"not a folder|Not a directory"):
        act(tmp_path / "taken" / "deep" / "items.csv")


@refusing
def test_a_name_that_is_too_long_is_refused(tmp_path: Path, act: Callable[[Path], None]) -> None:
    with pytest.raises(StoreUnavailable, match="too long"):
        act(tmp_path / f"{'x' * 300}.csv")


def test_a_folder_without_permission_is_refused_by_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreUnavailable, match="no permission to write in") as caught:
        check_outputs([tmp_path / "items.csv"])
    assert "permissions" in caught.value.hint


def test_the_check_leaves_the_disk_as_it_was(tmp_path: Path) -> None:
    check_outputs([tmp_path / "new" / "items.csv"])
    assert list(tmp_path.iterdir()) == []


def test_one_file_may_be_named_only_once(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with pytest.raises(TaskInvalid, match="named twice"):
        check_outputs([tmp_path / "rows.csv", tmp_path / "below" / ".." / "rows.csv"])
