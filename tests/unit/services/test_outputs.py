"""Writing the rows of a run to files."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from smartspider.core.errors import RequestInvalid, StoreUnavailable
from smartspider.core.items.columns import TableColumn
from smartspider.core.requests.request import content_fingerprint
from smartspider.interfaces.output import OutputOptions
from smartspider.services.results.outputs import ENVELOPE, write_outputs
from smartspider.store.results.rows import StoredItem

RUN = 3
COLUMNS = (TableColumn("name"), TableColumn("tags", "json"), TableColumn("price", "number"))
DATA = (b'{"name":"caf\xc3\xa9","tags":["a","b"],"price":null}', b'{"name":"x","tags":[],"price":1.5}')


class Items:
    """The part of a store that outputs read: two batches of one item, or a disk that breaks after one."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.passes = 0

    async def items(self, run_id: int, after: int = 0) -> AsyncIterator[Sequence[StoredItem]]:
        self.passes += 1
        for number, data in enumerate(DATA, start=after + 1):
            yield [StoredItem(number, run_id, f"http://h/{number}", data, 1_700_000_000.25, 1)]
            if self._error is not None:
                raise self._error


async def write(items: Items, *paths: Path, envelope: bool = False) -> list[str]:
    options = OutputOptions(has_envelope=envelope)
    return (await write_outputs(cast("Any", items).items(RUN), paths, COLUMNS, options)).files


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*")]


async def test_every_file_gets_all_rows_in_one_pass(tmp_path: Path) -> None:
    items = Items()
    lines, table = tmp_path / "rows.jsonl", tmp_path / "deep" / "rows.csv"
    assert await write(items, lines, table) == [str(lines), str(table)]
    assert lines.read_bytes() == b"".join(row + b"\n" for row in DATA)
    assert table.read_text().splitlines() == ["name,tags,price", 'café,"[""a"",""b""]",', "x,[],1.5"]
    assert items.passes == 1


async def test_without_a_file_nothing_is_read(tmp_path: Path) -> None:
    items = Items()
    assert await write(items) == []
    assert items.passes == 0
    assert names(tmp_path) == []


async def test_the_envelope_says_where_a_row_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    await write(Items(), path, envelope=True)
    first = json.loads(path.read_text().splitlines()[0])
    assert list(first) == [column.name for column in ENVELOPE]
    assert first == {
        "url": "http://h/1",
        "run": "3",
        "fingerprint": content_fingerprint(DATA[0]).hex(),
        "time": "2023-11-14T22:13:20.250000+00:00",
        "data": json.loads(DATA[0]),
    }


async def test_the_envelope_has_its_own_columns_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    await write(Items(), path, envelope=True)
    assert path.read_text().splitlines()[0] == "url,run,fingerprint,time,data"


async def test_a_store_that_breaks_leaves_no_file_behind(tmp_path: Path) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text("before\n")
    with pytest.raises(StoreUnavailable):
        await write(Items(StoreUnavailable("gone")), old, tmp_path / "new" / "rows.csv")
    assert names(tmp_path) == ["old.jsonl"]
    assert old.read_text() == "before\n"


async def test_a_file_that_cannot_be_opened_takes_the_others_with_it(tmp_path: Path) -> None:
    with pytest.raises(RequestInvalid):
        await write(Items(), tmp_path / "rows.jsonl", tmp_path / "rows.doc")
    assert names(tmp_path) == []


async def test_what_is_worth_knowing_about_the_files_is_told(tmp_path: Path) -> None:
    columns = (TableColumn("name", "number"), TableColumn("tags", "json"), TableColumn("price", "number"))
    paths = [tmp_path / "rows.sqlite", tmp_path / "rows.csv"]
    written = await write_outputs(cast("Any", Items()).items(RUN), paths, columns)
    assert written.rows == 2
    assert written.files == [str(path) for path in paths]
    assert [note.split(" is ")[0] for note in written.notes] == [f"the column name of {paths[0]}"]


async def test_every_file_is_split_alike(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.csv.gz"]
    options = OutputOptions(split_rows=1)
    written = await write_outputs(cast("Any", Items()).items(RUN), paths, COLUMNS, options)
    expected = ["a-000001.jsonl", "a-000002.jsonl", "b-000001.csv.gz", "b-000002.csv.gz"]
    assert sorted(names(tmp_path)) == expected
    assert written.files == [str(tmp_path / name) for name in expected]


async def test_no_file_appears_when_the_last_one_cannot_be_put_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, calls = os.fsync, iter([False, True])

    def second_fails(handle: int) -> None:
        if next(calls):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", second_fails)  # a disk cannot be filled here
    with pytest.raises(StoreUnavailable):
        await write(Items(), tmp_path / "rows.jsonl", tmp_path / "rows.csv")
    assert names(tmp_path) == []


async def test_an_envelope_in_a_typed_format_has_a_real_moment(tmp_path: Path) -> None:
    from pyarrow import parquet  # type: ignore[import-untyped] # ships no types

    path = tmp_path / "rows.parquet"
    await write(Items(), path, envelope=True)
    (row, _) = parquet.read_table(path).to_pylist()
    assert row["time"] == datetime(2023, 11, 14, 22, 13, 20, 250_000, tzinfo=UTC)
    assert json.loads(row["data"]) == json.loads(DATA[0])
