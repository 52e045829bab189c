"""Output files that a run without rows leaves as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from smartspider.cli.crawl.kept_files import empty_run_notes, kept_files
from smartspider.core.runs.run import Counters, Run, RunState


def run_with(state: RunState = "completed", **counters: int) -> Run:
    return Run(7, "task", b"{}", "hash", state, "", Counters(**counters), 0, 0.0)


def is_kept(path: Path, run: Run, *, allows_empty: bool = False) -> bool:
    return bool(kept_files([path], run, allows_empty=allows_empty))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("title\nTea\n")
    return path


def test_a_run_that_found_nothing_replaces_no_rows(rows: Path) -> None:
    assert is_kept(rows, run_with(done=3))
    assert is_kept(rows, run_with(done=3, rejected=9))
    assert is_kept(rows, run_with(skipped=3))


def test_a_run_with_rows_replaces_them(rows: Path) -> None:
    assert not is_kept(rows, run_with(done=3, items=1))


def test_no_rows_are_a_result_where_known_ones_are_dropped_or_an_empty_file_is_allowed(rows: Path) -> None:
    assert not is_kept(rows, run_with(done=3, duplicates=9))
    assert not is_kept(rows, run_with(done=3), allows_empty=True)


def test_a_new_or_an_empty_file_is_written(rows: Path, tmp_path: Path) -> None:
    assert not is_kept(tmp_path / "new.csv", run_with(done=3))
    rows.write_text("")
    assert not is_kept(rows, run_with(done=3))


def test_a_failed_run_without_rows_writes_no_file(rows: Path, tmp_path: Path) -> None:
    assert is_kept(rows, run_with("failed"))
    assert is_kept(tmp_path / "new.csv", run_with("failed"))
    assert not is_kept(rows, run_with("failed", items=1))


def test_a_file_that_was_just_written_is_not_called_kept(rows: Path, tmp_path: Path) -> None:
    run, new = run_with(done=3), tmp_path / "new.csv"
    kept = kept_files([rows, new], run, allows_empty=False)
    new.write_text("title\n")
    assert kept == [rows]
    first, *_ = empty_run_notes(run, kept)
    assert first == f"{rows} was not overwritten: the run has no rows; --allow-empty writes an empty file"
    assert str(new) not in first
