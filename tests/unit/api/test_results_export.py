"""Rows as files over the API."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import openpyxl  # type: ignore[import-untyped] # ships no types
import pytest
from click.testing import CliRunner
from tests.unit.api.asking import Caller
from tests.unit.api.doors import make_token
from tests.unit.api.rows import TEA, crawled

from smartspider.api.limits import ApiLimits
from smartspider.api.routes.file_response import content_disposition
from smartspider.backends.sqlite.database import FILE, connect
from smartspider.cli.results.export import export
from smartspider.client import Client
from smartspider.core.errors import NotAllowed, StoreUnavailable
from smartspider.core.runs.run import Run
from smartspider.operations.services import Services
from smartspider.store.results.rows import StoredItem
from smartspider.store.runs.store import RunStore
from smartspider.wiring.scratch import Scratch
from smartspider_testing.waiting import WAIT_S

MANY = [{**TEA[number % 4], "name": f"row {number} " + "x" * 500} for number in range(9000)]


def by_command(services: Services, folder: Path, run: Run, name: str, *more: str) -> bytes:
    """The same file as `results export` writes it."""
    path = folder / name
    data = ["--data", str(services.installation.path), "--run", str(run.id)]
    done = CliRunner().invoke(export, ["-o", str(path), *data, *more])
    assert done.exit_code == 0, done.output
    return path.read_bytes()


async def exported(api: Caller, run: Run, format_: str, more: str = "") -> bytes:
    answer = await api("POST", f"/api/results/export?run_id={run.id}&format={format_}{more}")
    return answer.expect(200).body


@pytest.mark.parametrize(
    ("format_", "media_type"),
    [
        ("csv", "text/csv; charset=utf-8"),
        ("json", "application/json"),
        ("jsonl", "application/x-ndjson"),
        ("xml", "application/xml"),
        ("md", "text/markdown; charset=utf-8"),
        ("parquet", "application/vnd.apache.parquet"),
        ("sqlite", "application/vnd.sqlite3"),
    ],
)
async def test_an_export_is_what_the_command_writes(
    services: Services, api: Caller, tmp_path: Path, format_: str, media_type: str
) -> None:
    run = await crawled(services.installation, [*TEA, *MANY[:2500]])
    answer = (await api("POST", f"/api/results/export?task_id=tea&format={format_}")).expect(200)
    assert answer.headers["Content-Type"] == media_type
    assert answer.headers["Content-Disposition"] == f'attachment; filename="tea-run-{run.id}.{format_}"'
    assert answer.body == await asyncio.to_thread(by_command, services, tmp_path, run, f"rows.{format_}")
    assert list((services.installation.path / "exports").iterdir()) == [] if format_ == "parquet" else True


async def test_a_spreadsheet_has_the_cells_the_command_writes(
    services: Services, api: Caller, tmp_path: Path
) -> None:
    run = await crawled(services.installation)
    answer = (await api("POST", f"/api/results/export?run_id={run.id}&format=xlsx")).expect(200)
    assert answer.headers["Content-Type"].endswith("spreadsheetml.sheet")
    theirs = await asyncio.to_thread(by_command, services, tmp_path, run, "rows.xlsx")
    mine, other = (
        list(openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows(values_only=True))
        for data in (answer.body, theirs)
    )
    assert mine == other
    assert len(mine) == 5


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("&envelope=true", ("--envelope",)),
        ("&excel=true&delimiter=%3B", ("--excel", "--delimiter", ";")),
        ("&delimiter=tab", ("--delimiter", "tab")),
    ],
)
async def test_options_mean_what_those_of_the_command_do(
    services: Services, api: Caller, tmp_path: Path, more: str, options: Sequence[str]
) -> None:
    run = await crawled(services.installation)
    theirs = await asyncio.to_thread(by_command, services, tmp_path, run, "rows.csv", *options)
    assert await exported(api, run, "csv", more) == theirs


@pytest.mark.parametrize("compression", ["gz", "zst", "bz2", "xz"])
async def test_text_is_compressed_on_the_way(
    services: Services, api: Caller, tmp_path: Path, compression: str
) -> None:
    run = await crawled(services.installation, MANY)
    answer = await api("POST", f"/api/results/export?run_id={run.id}&format=jsonl&compression={compression}")
    assert (
        f'filename="tea-run-{run.id}.jsonl.{compression}"'
        in answer.expect(200).headers["Content-Disposition"]
    )
    assert answer.body == await asyncio.to_thread(
        by_command, services, tmp_path, run, f"r.jsonl.{compression}"
    )
    if compression == "gz":
        assert len(gzip.decompress(answer.body).splitlines()) == 9000


async def test_only_changes_are_exported(services: Services, api: Caller, tmp_path: Path) -> None:
    await crawled(services.installation, dedup={"items": ["name"]})
    rows = [TEA[0], {**TEA[1], "price": 4}, {**TEA[2], "name": "new"}]
    run = await crawled(services.installation, rows, dedup={"items": ["name"]})
    body = await exported(api, run, "jsonl", "&only_changes=true")
    assert [json.loads(line) for line in body.splitlines()] == rows[1:]
    assert body == await asyncio.to_thread(by_command, services, tmp_path, run, "c.jsonl", "--only-changes")


@pytest.mark.parametrize("format_", ["csv", "jsonl", "sqlite"])
async def test_some_rows_and_fields_are_exported(services: Services, api: Caller, format_: str) -> None:
    run = await crawled(services.installation)
    body = await exported(api, run, format_, "&where=price%3E%3D12&fields=price,name")
    if format_ == "csv":
        assert list(csv.reader(io.StringIO(body.decode()))) == [
            ["price", "name"],
            ["12.5", "Sencha"],
            ["40", "Oolong"],
        ]
    elif format_ == "jsonl":
        assert body == b'{"price":12.5,"name":"Sencha"}\n{"price":40,"name":"Oolong"}\n'
    else:
        assert body.startswith(b"SQLite format 3")
    both = await exported(api, run, "jsonl", "&fields=name&envelope=true&where=name%3DAssam")
    whole = await exported(api, run, "jsonl", "&envelope=true&where=name%3DAssam")
    assert json.loads(both) == {**json.loads(whole), "data": {"name": "Assam"}}


async def test_a_browser_saves_the_same_file_with_a_ticket(services: Services, api: Caller) -> None:
    run = await crawled(services.installation, [*TEA, *MANY[:2500]])
    viewer = api.with_token(await make_token(services, "viewer", "viewer"))
    nobody = api.with_token(None)
    asked = f"run_id={run.id}&format=csv&where=price%3E%3D12"

    async def ticket(query: str) -> str:
        sent = {"for": f"/api/results/export?{query}"}
        secret: str = (await viewer.post("/api/auth/ticket", sent)).expect(200).json["ticket"]
        return secret

    secret = await ticket(asked)
    for other in (f"run_id={run.id}&format=csv", f"{asked}&where=name%3DAssam"):
        (await nobody.get(f"/api/results/export?{other}&ticket={secret}")).expect(401)
    saved = (await nobody.get(f"/api/results/export?{asked}&ticket={secret}")).expect(200)
    assert saved.headers["Content-Disposition"] == f'attachment; filename="tea-run-{run.id}.csv"'
    assert saved.body == (await api.post(f"/api/results/export?{asked}")).expect(200).body
    (await nobody.get(f"/api/results/export?{asked}&ticket={secret}")).expect(401)
    for unclear, status in (("run_id=99", 404), (f"run_id={run.id}&format=pdf", 422), ("format=csv", 422)):
        (await nobody.get(f"/api/results/export?{unclear}&ticket={await ticket(unclear)}")).expect(status)


async def test_a_run_without_rows_is_an_empty_file(services: Services, api: Caller) -> None:
    run = await crawled(services.installation, [])
    assert await exported(api, run, "csv") == b"name,price,tags,seller,seen\r\n"
    assert await exported(api, run, "jsonl") == b""
    assert await exported(api, run, "json") == b"[]\n"


@pytest.mark.parametrize(
    ("asked", "detail"),
    [
        ("format=pdf", "there is no format 'pdf'"),
        ("format=csv&compression=rar", "there is no compression 'rar'"),
        ("format=xlsx&compression=gz", "the output tea-run-1.xlsx.gz cannot be"),
        ("format=csv&delimiter=x", "'x'"),
        ("format=csv&fields=nme", "the rows have no field 'nme'"),
        ("format=csv&where=nme%3D1", "the rows have no field 'nme'"),
    ],
)
async def test_a_choice_that_means_nothing_is_refused(
    services: Services, api: Caller, asked: str, detail: str
) -> None:
    await crawled(services.installation)
    problem = (await api("POST", f"/api/results/export?run_id=1&{asked}")).expect(422).json
    assert problem["detail"].startswith(detail)


async def test_a_file_is_named_as_the_task_is(services: Services, api: Caller) -> None:
    run = await crawled(services.installation, name="tée_茶")
    answer = (await api("POST", f"/api/results/export?run_id={run.id}")).expect(200)
    assert answer.headers["Content-Disposition"] == (
        f'attachment; filename="tee__-run-{run.id}.jsonl"; '
        f"filename*=UTF-8''t%C3%A9e_%E8%8C%B6-run-{run.id}.jsonl"
    )


def test_no_name_breaks_out_of_its_header() -> None:
    header = content_disposition('a"b\r\nX: y;/../c')
    assert header.startswith('attachment; filename="a_b__X__y__.._c"; filename*=UTF-8')
    assert "\n" not in header
    assert "/" not in header


class Held:
    """A store whose rows come when they are let through, batch by batch."""

    def __init__(self, store: RunStore, *, fails: Exception | None = None) -> None:
        self._store = store
        self.failure = fails
        self.let = asyncio.Event()
        self.is_waiting = asyncio.Event()
        self.is_closed = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def items(self, run_id: int, after: int = 0) -> AsyncIterator[Sequence[StoredItem]]:
        try:
            async for batch in self._store.items(run_id, after):
                yield batch
                self.is_waiting.set()
                await self.let.wait()
                if self.failure is not None:
                    raise self.failure
        finally:
            self.is_closed.set()


@pytest.fixture
def held(services: Services) -> Held:
    store = Held(services.installation.store)
    services.exports.store = store  # type: ignore[assignment]  # it stands before the real one
    return store


async def until_over(services: Services) -> None:
    async with asyncio.timeout(WAIT_S):
        while services.exports.slots.in_use:  # noqa: ASYNC110 - it ends somewhere in a server
            await asyncio.sleep(0.001)


def asking(api: Caller, run: Run, format_: str) -> Any:
    headers = {"Authorization": f"Bearer {api.token}"}
    url = f"{api.base}/api/results/export?run_id={run.id}&format={format_}"
    return api.session.post(url, headers=headers)


async def test_text_is_sent_while_it_is_made(services: Services, api: Caller, held: Held) -> None:
    run = await crawled(services.installation, MANY)
    async with asking(api, run, "csv") as answer:
        assert answer.status == 200
        assert "Content-Length" not in answer.headers
        first = await answer.content.readany()
        assert first.startswith(b"name,price")
        assert not held.is_closed.is_set()
        held.let.set()
        assert len((first + await answer.read()).splitlines()) == 9001


async def test_others_are_answered_while_a_file_is_made(services: Services, api: Caller, held: Held) -> None:
    run = await crawled(services.installation, MANY)
    asked = asyncio.create_task(exported(api, run, "xlsx"))
    await held.is_waiting.wait()
    (await api.get(f"/api/results/count?run_id={run.id}")).expect(200)
    assert not asked.done()
    held.let.set()
    assert (await asked).startswith(b"PK")


async def test_an_error_on_the_way_is_no_short_file(services: Services, api: Caller, held: Held) -> None:
    run = await crawled(services.installation, MANY)
    held.failure = StoreUnavailable("the disk is gone")
    async with asking(api, run, "jsonl") as answer:
        assert answer.status == 200
        await answer.content.readany()
        held.let.set()
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()
    assert services.exports.slots.in_use == 0


@pytest.mark.parametrize("format_", ["csv", "parquet"])
async def test_a_run_that_lacks_rows_is_refused(
    services: Services, api: Caller, tmp_path: Path, format_: str
) -> None:
    run = await crawled(services.installation, MANY[:1200])
    raw = connect(services.installation.path / FILE)
    raw.set_busy_timeout(10_000)  # a checkpoint may be going on
    raw.execute("DELETE FROM item WHERE id = (SELECT max(id) FROM item)")
    raw.close()
    said = f"run {run.id} is damaged: it stored 1200 rows, and 1199 can be read"
    problem = (await api("POST", f"/api/results/export?run_id={run.id}&format={format_}")).expect(503).json
    assert problem["detail"] == said
    async with Client(api.base, str(api.token)) as client:
        with pytest.raises(StoreUnavailable, match=said):
            [piece async for piece in client.export_results(run_id=str(run.id), format=format_)]
    path = tmp_path / f"rows.{format_}"
    data = ["--data", str(services.installation.path), "--run", str(run.id)]
    done = await asyncio.to_thread(CliRunner().invoke, export, ["-o", str(path), *data])
    assert not path.exists()
    assert isinstance(done.exception, StoreUnavailable)


@pytest.mark.parametrize("format_", ["parquet", "xlsx", "sqlite"])
async def test_an_error_before_the_first_byte_is_a_problem(
    services: Services, api: Caller, held: Held, format_: str
) -> None:
    run = await crawled(services.installation, MANY)
    held.failure = StoreUnavailable("the disk is gone")
    held.let.set()
    problem = (await api("POST", f"/api/results/export?run_id={run.id}&format={format_}")).expect(503).json
    assert problem["detail"] == "the disk is gone"
    assert list((services.installation.path / "exports").iterdir()) == []


async def test_a_run_that_is_deleted_on_the_way_is_no_short_file(
    services: Services, api: Caller, held: Held
) -> None:
    run = await crawled(services.installation, MANY)
    async with asking(api, run, "csv") as answer:
        await answer.content.readany()
        await services.installation.store.delete_run(run.id)
        held.let.set()
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()
    run = await crawled(services.installation, MANY)
    held.let.clear()
    held.is_waiting.clear()
    asked = asyncio.create_task(api("POST", f"/api/results/export?run_id={run.id}&format=parquet"))
    await held.is_waiting.wait()
    await services.installation.store.delete_run(run.id)
    held.let.set()
    problem = (await asked).expect(409).json
    run = await crawled(services.installation)
    raw = connect(services.installation.path / FILE)
    raw.set_busy_timeout(10_000)  # a checkpoint may be going on
    raw.execute("UPDATE run SET state = 'cancelled', reason = 'deleted' WHERE id = ?", (run.id,))
    raw.close()
    (await api("POST", f"/api/results/export?run_id={run.id}&format=parquet")).expect(409)
    assert problem["detail"] == f"run {run.id - 1} was deleted while its rows were exported"
    assert NotAllowed.code == problem["code"]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
async def test_when_the_client_goes_away_nothing_is_left(
    services: Services, api: Caller, held: Held, format_: str
) -> None:
    run = await crawled(services.installation, MANY)
    address = api.base.removeprefix("http://").split(":")
    with closing(socket.create_connection((address[0], int(address[1])))) as connection:
        request = (
            f"POST /api/results/export?run_id={run.id}&format={format_} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {api.token}\r\nContent-Length: 0\r\n\r\n"
        )
        connection.sendall(request.encode())
        await asyncio.wait_for(held.is_waiting.wait(), WAIT_S)
    await asyncio.wait_for(held.is_closed.wait(), WAIT_S)
    await until_over(services)
    assert not list((services.installation.path / "exports").glob("*"))


@pytest.mark.parametrize("limits", [ApiLimits(stall_s=0.05)])
async def test_who_takes_nothing_is_not_waited_for(services: Services, api: Caller) -> None:
    run = await crawled(services.installation, [{**TEA[0], "name": "x" * 1_000_000}] * 40)
    async with asking(api, run, "jsonl") as answer:
        assert answer.status == 200
        await until_over(services)
        with pytest.raises(aiohttp.ClientError):
            await answer.read()


async def test_what_a_killed_process_left_is_swept_at_start(tmp_path: Path) -> None:
    path = tmp_path / "exports"
    scratch = Scratch(path)
    with scratch.folder() as used:
        (used / "rows.xlsx").write_bytes(b"x")
        dead = path / "dead"
        dead.mkdir()
        (dead / ".rows.xlsx.tmp-1").write_bytes(b"x")
        (path / "dead.lock").touch()
        Scratch(path)
        assert sorted(file.name for file in path.iterdir()) == sorted([used.name, f"{used.name}.lock"])
        assert (used / "rows.xlsx").exists()
    assert list(path.iterdir()) == []


async def test_a_full_disk_is_told_before_a_byte_is_sent(
    services: Services, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await crawled(services.installation)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)  # a disk cannot be filled here
    problem = (await api("POST", f"/api/results/export?run_id={run.id}&format=parquet")).expect(503).json
    assert "No space left on device" in problem["detail"]
    assert list((services.installation.path / "exports").iterdir()) == []
