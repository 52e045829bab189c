"""The cost of open consoles for a crawl.

`python benchmarks/consoles.py [--consoles 20] [--pairs 5]`: a server crawls the benchmark site at a steady
rate, in turns alone and with consoles. Each has a live socket that watches the overview and the run, and asks
again for the overview and the course of all runs as often as the page does.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import aiohttp
import bench_site
from compare import site_running
from server import PAGES, TOKEN, Server, cpu_s, start, task

EVERY_S = {"/api/overview": 5.0, "/api/series?points=60": 15.0}


@dataclass
class Cost:
    """The cost of one crawl."""

    worker_ms_per_page: float
    api_cpu_s: float
    seconds: float
    messages: int


async def crawl(session: aiohttp.ClientSession, server: Server, task_id: str, consoles: int) -> Cost:
    """Crawl the site while so many consoles look on."""
    loop = asyncio.get_running_loop()
    worker, api, began = cpu_s(server.pids["worker_process"]), cpu_s(server.pids["api"]), loop.time()
    async with session.post(f"{server.url}/api/tasks/{task_id}/start") as answer:
        run_id = (await answer.json())["run_id"]
    received: list[str] = []
    async with asyncio.TaskGroup() as group:
        parts = [
            group.create_task(part)
            for _ in range(consoles)
            for part in (
                watch(session, server, run_id, received),
                *(ask(session, server.url + path, every_s) for path, every_s in EVERY_S.items()),
            )
        ]
        while True:
            await asyncio.sleep(0.5)
            async with session.get(f"{server.url}/api/runs/{run_id}") as answer:
                status = await answer.json()
            if status["state"] == "completed":
                break
        for part in parts:
            part.cancel()
    assert status["success_count"] == PAGES, status
    assert len(received) >= consoles * status["duration_s"] / 2, "consoles heard nothing"
    return Cost(
        (cpu_s(server.pids["worker_process"]) - worker) * 1000.0 / PAGES,
        cpu_s(server.pids["api"]) - api,
        loop.time() - began,
        len(received),
    )


async def watch(session: aiohttp.ClientSession, server: Server, run_id: str, received: list[str]) -> None:
    """Receive all messages about the overview and a run."""
    async with session.ws_connect(f"{server.url}/api/live") as socket:
        await socket.send_json({"op": "watch", "id": "1", "topic": "overview"})
        await socket.send_json({"op": "watch", "id": "2", "topic": "run", "run_id": run_id})
        while True:
            received.append(await socket.receive_str())


async def ask(session: aiohttp.ClientSession, url: str, every_s: float) -> None:
    """Ask for a URL again and again."""
    while True:
        async with session.get(url) as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()
        await asyncio.sleep(every_s)


@asynccontextmanager
async def serving(folder: str, base: str) -> AsyncIterator[tuple[aiohttp.ClientSession, Server, str]]:
    """A server with the task that crawls the site, and a client."""
    process, server = await start(Path(folder))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
        async with session.post(f"{server.url}/api/tasks", json=task(bench_site.entry(base))) as answer:
            task_id = (await answer.json())["id"]
        try:
            yield session, server, task_id
        finally:
            process.terminate()
            await process.wait()


async def measure(consoles: int, pairs: int) -> None:
    alone, watched = [], []
    with tempfile.TemporaryDirectory() as folder, site_running(PAGES, 1) as base:
        async with serving(folder, base) as (session, server, task_id):
            await crawl(session, server, task_id, 0)
            for _ in range(pairs):
                alone.append(await crawl(session, server, task_id, 0))
                watched.append(await crawl(session, server, task_id, consoles))
    show(alone, watched, consoles)


def show(alone: list[Cost], watched: list[Cost], consoles: int) -> None:
    pairs = list(zip(alone, watched, strict=True))
    ratios = [two.worker_ms_per_page / one.worker_ms_per_page - 1 for one, two in pairs]
    api = median(two.api_cpu_s / two.seconds - one.api_cpu_s / one.seconds for one, two in pairs)
    messages = median(one.messages / one.seconds for one in watched)
    spread = f"{min(ratios):+.1%} to {max(ratios):+.1%}"
    print("| | |\n|---|---|")
    for name, costs in (("alone", alone), (f"{consoles} consoles", watched)):
        print(f"| worker CPU a page, {name} | {median(one.worker_ms_per_page for one in costs):.2f} ms |")
    print(f"| difference, median of {len(pairs)} pairs | {median(ratios):+.1%} ({spread}) |")
    print(f"| API CPU for a console | {api / consoles:.2%} of a core |")
    print(f"| messages a second to a console | {messages / consoles:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--consoles", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    asked = parser.parse_args()
    asyncio.run(measure(asked.consoles, asked.pairs))


if __name__ == "__main__":
    main()
