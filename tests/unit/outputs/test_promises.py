"""The numbered promises of `interfaces/output.py`, for every file format there is."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.unit.outputs.readers import read_rows

from smartspider.core.errors import StoreUnavailable
from smartspider.core.items.columns import TableColumn
from smartspider.core.pages.extraction import Item
from smartspider.interfaces.output import PLAIN, Output
from smartspider.outputs.sqlite import SqliteOutput
from smartspider.plugins import registry
from smartspider.plugins.kinds import OUTPUT
from smartspider_testing.waiting import WAIT_S

ITEMS: list[Item] = [
    {"name": 'Ä 茶\n"x", y', "tags": ["a", "b"], "price": 1.5},
    {"name": None, "tags": [], "price": None},
]
COLUMNS = (TableColumn("name"), TableColumn("tags", "json"), TableColumn("price", "number"))


@pytest.fixture(params=sorted(OUTPUT.built_in))
def suffix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(suffix: str) -> Callable[[Path, Sequence[TableColumn]], Output]:
    opened = registry.resolve(OUTPUT, suffix)
    return lambda path, columns: opened(path, columns, PLAIN)


@pytest.fixture
def target(tmp_path: Path, suffix: str) -> Path:
    return tmp_path / f"items.{suffix}"


def test_nothing_is_visible_before_commit(make: Callable[..., Output], target: Path) -> None:
    target.write_text("the file of the last run")
    output = make(target, COLUMNS)
    output.write(ITEMS[0])
    assert target.read_text() == "the file of the last run"
    output.commit()
    assert target.stat().st_size > 0
    assert target.read_bytes() != b"the file of the last run"


def test_commit_leaves_one_file(make: Callable[..., Output], target: Path) -> None:
    output = make(target, COLUMNS)
    pending = f".{target.name}.tmp-{os.getpid()}"
    assert {path.name for path in target.parent.iterdir()} - {f"{pending}-scratch"} == {pending}
    output.seal()
    assert not target.exists()
    output.commit()
    assert list(target.parent.iterdir()) == [target]


def test_what_a_killed_process_left_beside_the_target_goes_at_the_next_writing(
    make: Callable[..., Output], target: Path
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(WAIT_S)
    orphan = target.parent / f".{target.name}.tmp-{gone.pid}"
    others = [
        target.parent / f".{target.name}.tmp-{os.getppid()}",
        target.parent / f".{target.name}.tmp-notes",
        target.parent / f".other.tmp-{gone.pid}",
        target.parent / f"{target.name}.tmp-{gone.pid}",
    ]
    for path in (orphan, *others):
        path.touch()
    scratch = orphan.with_name(f"{orphan.name}-scratch")
    scratch.mkdir()
    (scratch / "rows").touch()
    make(target, COLUMNS).commit()
    assert not orphan.exists()
    assert not scratch.exists()
    assert sorted(target.parent.iterdir()) == sorted([target, *others])


def test_a_folder_that_cannot_be_listed_can_be_written_to(
    make: Callable[..., Output], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "listdir", refuse)  # root may list every folder
    make(target, COLUMNS).commit()
    assert target.exists()


def test_abort_leaves_nothing_behind(make: Callable[..., Output], tmp_path: Path, suffix: str) -> None:
    output = make(tmp_path / "new" / "deep" / f"items.{suffix}", COLUMNS)
    output.write(ITEMS[0])
    output.abort()
    assert list(tmp_path.iterdir()) == []


def test_abort_keeps_folders_that_were_there_and_the_file_of_the_last_run(
    make: Callable[..., Output], target: Path
) -> None:
    target.write_text("the file of the last run")
    make(target, COLUMNS).abort()
    assert list(target.parent.iterdir()) == [target]
    assert target.read_text() == "the file of the last run"


def test_abort_after_commit_takes_nothing_back(
    make: Callable[..., Output], tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / "new" / f"items.{suffix}"
    output = make(target, COLUMNS)
    output.commit()
    output.abort()
    assert target.exists()


def test_an_encoded_row_is_the_same_row(make: Callable[..., Output], tmp_path: Path, suffix: str) -> None:
    plain, encoded = tmp_path / f"plain.{suffix}", tmp_path / f"encoded.{suffix}"
    first, second = make(plain, COLUMNS), make(encoded, COLUMNS)
    for item in ITEMS:
        first.write({**item, "extra": "is no column"})
        second.write_encoded(msgspec.json.encode(item))
    first.commit()
    second.commit()
    assert read_rows(plain) == read_rows(encoded) != []


def test_a_link_stays_a_link(make: Callable[..., Output], target: Path) -> None:
    real = target.parent / "real"
    target.symlink_to(real)
    make(target, COLUMNS).commit()
    assert target.is_symlink()
    assert real.is_file()


def test_a_folder_is_refused_as_a_target(make: Callable[..., Output], target: Path) -> None:
    target.mkdir()
    with pytest.raises(StoreUnavailable, match="is a folder") as caught:
        make(target, COLUMNS)
    assert caught.value.hint.startswith("name a file in it")


def test_a_file_in_the_place_of_a_folder_is_refused(
    make: Callable[..., Output], tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        make(tmp_path / "taken" / f"items.{suffix}", COLUMNS)


def test_a_full_disk_is_reported_and_abort_still_cleans_up(
    make: Callable[..., Output], target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    output = make(target, COLUMNS)
    monkeypatch.setattr(os, "fsync", no_space)  # a disk cannot be filled here
    with pytest.raises(StoreUnavailable, match="No space left") as caught:
        output.commit()
    assert caught.value.hint.startswith("free some space")
    output.abort()
    assert list(target.parent.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("suffix", sorted({*OUTPUT.built_in} - {"db", "sqlite"}))
def test_a_disk_that_fills_up_while_writing_is_reported(make: Callable[..., Output], target: Path) -> None:
    (target.parent / f".{target.name}.tmp-{os.getpid()}").symlink_to("/dev/full")
    output = make(target, COLUMNS)
    with pytest.raises(StoreUnavailable, match="No space left"):  # noqa: PT012 - at the latest when it is sealed
        output.write({"name": "x" * 1_000_000})
        output.seal()
    output.abort()
    assert list(target.parent.iterdir()) == []


def test_a_database_on_a_full_disk_is_reported(tmp_path: Path) -> None:
    class FullDisk(SqliteOutput):
        def begin(self) -> None:
            super().begin()
            self._connection.execute("PRAGMA max_page_count = 10")

    output = FullDisk(tmp_path / "items.db", COLUMNS)
    with pytest.raises(StoreUnavailable, match="No space left") as caught:  # noqa: PT012 - as above
        output.write({"name": "x" * 1_000_000})
        output.seal()
    assert caught.value.hint.startswith("free some space")
    output.abort()
    assert list(tmp_path.iterdir()) == []


def test_sealing_twice_changes_nothing(make: Callable[..., Output], target: Path) -> None:
    output = make(target, COLUMNS)
    output.write(ITEMS[0])
    output.seal()
    output.seal()
    output.commit()
    assert len(read_rows(target)) == 1
    assert output.files() == [str(target)]
    assert output.notes() == []


def test_abort_after_sealing_leaves_nothing(make: Callable[..., Output], tmp_path: Path, suffix: str) -> None:
    output = make(tmp_path / "new" / f"items.{suffix}", COLUMNS)
    output.write(ITEMS[0])
    output.seal()
    output.abort()
    assert list(tmp_path.iterdir()) == []


def test_the_size_grows_with_the_rows(make: Callable[..., Output], target: Path) -> None:
    output = make(target, COLUMNS)
    before = output.size()
    output.write({"name": "x" * 5_000})
    assert 5_000 <= output.size() - before < 6_000
    output.abort()
