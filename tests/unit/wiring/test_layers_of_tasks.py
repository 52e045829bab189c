"""Layers of a task, from the task file to the stored row: in crawls, previews and commands alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from smartspider.core.runs.plan import Plan
from smartspider.installation.settings import Settings
from smartspider.services.preview.rules import apply_rules
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.crawl_run import crawl_run
from smartspider.wiring.opening import open_folder
from smartspider.wiring.preview.command_fetch import command_fetcher
from smartspider.wiring.preview.task_preview import preview_task

ANSWERS = {b"/a": b'{"html": "<ul><li>Tea</li><li>Cup</li></ul>"}', b"/b": b'{"error": "busy"}'}


@asynccontextmanager
async def api() -> AsyncIterator[str]:
    """A site that answers with HTML inside JSON."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: "
        writer.write(head + b"%d\r\n\r\n" % len(ANSWERS[path]) + ANSWERS[path])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def task_of(site: str, *paths: str) -> dict[str, Any]:
    return {
        "name": "api",
        "entry_urls": [f"{site}{path}" for path in paths],
        "layers": [{"use": "json", "expr": "html"}],
        "selectors": {"items": "li", "fields": {"name": ":scope::text"}},
        "politeness": {"delay_s": 0, "robots": "ignore"},
    }


def plan_of(site: str, *paths: str) -> Plan:
    return compile_task(parse_task(task_of(site, *paths)))


async def test_a_crawl_stores_the_rows_inside_json_and_names_the_layer_of_a_broken_page(
    tmp_path: Path,
) -> None:
    async with api() as site:
        plan = plan_of(site, "/a", "/b")
        with open_folder(tmp_path / "data") as folder:
            run = await folder.store.create_run(plan)
            run = await folder.store.set_state(run.id, "running")
            ended = await crawl_run(folder, run, plan, workers=1, on_ready=lambda _stop: None)
            (broken,) = await folder.store.failures(run.id, 5)
    assert (ended.counters.done, ended.counters.items, ended.counters.broken) == (1, 2, 1)
    reason = "layer_failed: layers[0] json, after the answer: the answer has nothing at 'html'"
    assert (broken.url, broken.reason) == (f"{site}/b", reason)


@pytest.mark.usefixtures("tmp_path")
async def test_a_preview_and_a_command_read_the_same() -> None:
    async with api() as site:
        previewed = await preview_task(plan_of(site, "/a"), Settings(), limit=1)
        async with command_fetcher(plan_of(site, "/a")) as fetch:
            page = await fetch(f"{site}/a")
    (shown,) = previewed.pages
    assert shown.items == apply_rules(task_of(site, "/a"), page).items == [{"name": "Tea"}, {"name": "Cup"}]
