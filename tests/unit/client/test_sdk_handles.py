"""Tasks, runs and rows to hold on to."""

from __future__ import annotations

import asyncio
import csv
import gzip
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.api.rows import TEA, crawled
from tests.unit.api.watching import new_run, until

from smartspider.client import Client
from smartspider.core.errors import NotFound, RequestInvalid, TaskInvalid
from smartspider.core.logs import LogLine
from smartspider.core.runs.run import RunState
from smartspider.operations.services import Services

SPEC: dict[str, Any] = {"name": "shop", "entry_urls": ["http://a.example/"]}


def files(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.is_file())


async def test_applying_a_task_makes_it_once_and_then_versions_of_it(client: Client) -> None:
    first = await client.tasks.apply(SPEC, note="one")
    assert (first.name, first.version) == ("shop", 1)
    again = await client.tasks.apply(SPEC)
    assert again.saved is not None
    assert (again.id, again.version, again.saved.status) == (first.id, 1, "unchanged")
    changed = await client.tasks.apply({**SPEC, "concurrency": 2})
    assert changed.saved is not None
    assert (changed.id, changed.version, changed.saved.status) == (first.id, 2, "changed")
    assert [one.version for one in (await client.list_task_versions("shop")).items] == [2, 1]


async def test_a_task_named_like_the_id_of_another_is_not_taken_for_it(client: Client) -> None:
    first = await client.tasks.apply(SPEC)
    other = await client.tasks.apply({**SPEC, "name": first.id})
    assert other.id != first.id
    assert other.saved is not None
    assert other.saved.status == "created"
    assert (await client.tasks.apply({**SPEC, "name": "sho"})).id not in (first.id, other.id)


@pytest.mark.parametrize("way", ["json", "bytes", "yaml", "marked", "file"])
async def test_a_task_file_is_applied_as_it_is(client: Client, tmp_path: Path, way: str) -> None:
    await client.tasks.apply(SPEC)
    text = msgspec.json.encode({**SPEC, "concurrency": 3}).decode()
    yaml = "name: shop\nentry_urls: [http://a.example/]\nconcurrency: 3\n"
    path = tmp_path / "task.yaml"
    path.write_text(yaml)
    ways: dict[str, Any] = {
        "json": text,
        "bytes": text.encode(),
        "yaml": yaml,
        "marked": f"\ufeff{text}",
        "file": path,
    }
    applied = await client.tasks.apply(ways[way])
    assert applied.version == 2


@pytest.mark.parametrize("wrong", ["", "{", "{]", "a: [", "[1]", "name: [x]", {"nmae": "x"}, {}])
async def test_what_is_wrong_with_a_task_is_said_by_the_server(client: Client, wrong: Any) -> None:
    with pytest.raises(TaskInvalid) as raised:
        await client.tasks.apply(wrong)
    assert raised.value.problems
    assert (await client.list_tasks()).items == []


async def test_tasks_are_found_by_name_and_in_turn(client: Client) -> None:
    for name in ("shop", "shoes", "tea"):
        await client.tasks.apply({**SPEC, "name": name})
    assert [one.name async for one in client.tasks.iter()] == ["shop", "shoes", "tea"]
    assert [one.name async for one in client.tasks.iter(name="sho")] == ["shoes", "shop"]
    assert repr(await client.tasks.get("tea")) == "TaskHandle(id='3', name='tea', version=1)"
    with pytest.raises(NotFound):
        await client.tasks.get("coffee")
    await (await client.tasks.get("tea")).delete()
    assert [one.name async for one in client.tasks.iter(name="t")] == []


async def test_a_run_is_started_steered_and_waited_for(client: Client) -> None:
    made = await client.tasks.apply(SPEC)
    assert await made.newest_run() is None
    run = await made.start(tuning={"concurrency": 2})
    found = await made.newest_run()
    assert found is not None
    assert (found.id, run.task_id) == (run.id, made.id)
    assert repr(run) == f"RunHandle(id={run.id!r}, task_id={made.id!r})"
    turned = await run.tune(delay_s=2)
    assert turned.changed["delay_s"].after == 2
    metrics = await run.metrics()
    assert metrics.knobs is not None
    assert (metrics.knobs.concurrency, metrics.knobs.delay_s) == (2, 2)
    await run.pause()
    assert (await run.stall()).state == "paused"
    assert (await run.wait(or_paused=True)).state == "paused"
    await run.resume()
    waiting = asyncio.create_task(run.wait(timeout_s=20))
    await run.stop()
    assert (await waiting).state == "stopped"
    await run.cancel()
    assert (await run.wait()).state == "cancelled"
    await run.delete()
    with pytest.raises(NotFound):
        await client.runs.get(run.id)


async def test_waiting_has_an_end(client: Client) -> None:
    run = await (await client.tasks.apply(SPEC)).start()
    with pytest.raises(TimeoutError):
        await run.wait(timeout_s=0.05)


async def test_what_failed_is_tried_again_in_another_run(client: Client, services: Services) -> None:
    first = await client.runs.get(str((await crawled(services.installation)).id))
    again = await first.retry(which="all")
    assert again.id != first.id
    assert again.task_id == first.task_id
    assert (await first.why("http://tea.example/list")).run_id == first.id


async def test_what_happens_in_a_run_is_told_in_order(client: Client, services: Services) -> None:
    run = await client.runs.get(str((await new_run(services)).id))
    events = []
    states: list[RunState] = ["paused", "running", "cancelled"]
    async with aclosing(run.follow()) as stream:
        async for event in stream:
            events.append(event)
            if event.event == "run.created":
                for state in states:
                    await services.installation.store.set_state(int(run.id), state)
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [one.data["to"] for one in events if one.event == "run.state"][-3:] == states
    last = [event async for event in run.follow(after=len(events) - 1)]
    assert last == events[-1:]
    (snapshot,) = [event async for event in run.follow(snapshot=True)]
    assert (snapshot.event, snapshot.data["state"], snapshot.id) == ("run.status", "cancelled", len(events))


async def test_a_task_is_followed_from_run_to_run(client: Client, services: Services) -> None:
    first = await crawled(services.installation)
    made = await client.tasks.get("tea")
    seen: list[str | None] = []
    async with aclosing(made.follow()) as stream:
        async for event in stream:
            if event.run_id not in seen:
                seen.append(event.run_id)
            if len(seen) == 1 and event.event == "run.state" and event.data["to"] == "completed":
                second = await crawled(services.installation)
            if len(seen) == 2:
                break
    assert seen == [str(first.id), str(second.id)]


async def test_rows_are_had_to_the_last(client: Client, services: Services) -> None:
    run = await client.runs.get(str((await crawled(services.installation)).id))
    assert [row async for row in run.results.iter(page_size=3)] == TEA
    dear = run.results.iter(page_size=1, where="price>=12", fields=["price", "name"], sort="-price")
    assert [list(row.items()) async for row in dear] == [
        [("price", 40), ("name", "Oolong")],
        [("price", 12.5), ("name", "Sencha")],
    ]
    both = [row async for row in run.results.iter(where=["price>=12", "name~Sen"], envelope=True)]
    assert [(row["data"], row["run_id"]) for row in both] == [(TEA[0], run.id)]
    assert {"url", "fingerprint", "created_at"} < set(both[0])
    assert (await run.results.count()).count == 4
    assert (await run.results.count(where="price>=12")).count == 2
    assert (await run.results.coverage(fields=["name"])).fields[0].filled == 4
    assert [row async for row in (await client.tasks.get("tea")).results.iter()] == TEA
    assert repr(run.results) == f"Results(run_id={run.id!r})"


async def test_rows_of_two_runs_are_compared(client: Client, services: Services) -> None:
    await crawled(services.installation, TEA[:3])
    run = await client.runs.get(str((await crawled(services.installation, TEA[1:])).id))
    counts = (await run.results.diff(key=["name"])).counts
    assert (counts.new, counts.gone, counts.unchanged) == (1, 1, 2)


async def test_rows_are_exported_by_the_name_of_the_file(
    client: Client, services: Services, tmp_path: Path
) -> None:
    run = await client.runs.get(str((await crawled(services.installation)).id))
    path = await run.results.export(tmp_path / "rows.csv", fields="name,price")
    with path.open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [row["name"] for row in TEA]
    packed = await run.results.export(str(tmp_path / "more.rows.jsonl.gz"), where="price>=12")
    lines = gzip.decompress(packed.read_bytes()).splitlines()
    assert [msgspec.json.decode(line)["name"] for line in lines] == ["Sencha", "Oolong"]
    plain = await run.results.export(tmp_path / "rows.txt", format="jsonl")
    assert len(plain.read_bytes().splitlines()) == 4
    assert files(tmp_path) == ["more.rows.jsonl.gz", "rows.csv", "rows.txt"]


@pytest.mark.parametrize("name", ["rows", "rows.gz", "rows.tea"])
async def test_a_file_that_cannot_be_written_leaves_nothing(
    client: Client, services: Services, tmp_path: Path, name: str
) -> None:
    run = await client.runs.get(str((await crawled(services.installation)).id))
    (tmp_path / "rows.csv").write_text("before")
    with pytest.raises(RequestInvalid):
        await run.results.export(tmp_path / name)
    with pytest.raises(RequestInvalid):
        await run.results.export(tmp_path / "rows.csv", where="=")
    assert (tmp_path / "rows.csv").read_text() == "before"
    assert files(tmp_path) == ["rows.csv"]


async def test_log_lines_are_found_and_followed(client: Client, services: Services) -> None:
    lines = [LogLine(float(at), 20 + 10 * (at % 2), "fetch.done", f"line {at}") for at in range(5)]
    await services.installation.logs.add(lines)
    assert [line.text async for line in client.logs.iter(page_size=2)] == [
        f"line {at}" for at in (4, 3, 2, 1, 0)
    ]
    assert [line.text async for line in client.logs.iter(level="warning", page_size=2)] == [
        "line 3",
        "line 1",
    ]
    async with aclosing(client.logs.tail(level="warning")) as tail:
        waiting = asyncio.ensure_future(anext(tail))
        await until(lambda: len(services.hub))
        await services.installation.logs.add(
            [LogLine(9.0, 20, "x", "not this"), LogLine(9.0, 40, "x", "this")]
        )
        assert (await waiting).text == "this"
    with pytest.raises(RequestInvalid, match="level"):
        await anext(client.logs.tail(level="loud"))
