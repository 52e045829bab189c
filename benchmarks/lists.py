"""The cost of list calls as the data grows: the same calls on a small and on a large data folder, in turns.

`python benchmarks/lists.py [--rows 1000000] [--folder DIR]`: one server on a folder with 1,000 tasks, pages,
rows and log lines, one on a folder with 10,000 tasks and a million of the others (made in about a minute, or
once in DIR). CPU of the API process for each call, and how much more it is on the large folder.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import aiohttp
import msgspec
from big_folder import Built, build
from server import TOKEN, Server, cpu_s, idle, start

SMALL = 1_000
CALLS = 50
ROUNDS = 3
LISTS = {
    "overview": "/api/overview",
    "course of all runs": "/api/series",
    "tasks": "/api/tasks",
    "versions of a task": "/api/tasks/{task_id}/versions",
    "runs": "/api/runs",
    "runs of a task": "/api/runs?task_id={task_id}",
    "runs in a state": "/api/runs?state=completed",
    "status of a run": "/api/runs/{run_id}",
    "metrics of a run": "/api/runs/{run_id}/metrics",
    "pages of a run": "/api/runs/{run_id}/pages",
    "pages in a state": "/api/runs/{run_id}/pages?state=missing&limit=10",
    "failures of a run": "/api/runs/{run_id}/failures?limit=10",
    "why a URL": "/api/explain?run_id={run_id}&url=https://shop.example/page/77",
    "rows": "/api/results?run_id={run_id}",
    "rows, filtered": "/api/results?run_id={run_id}&where=stock=7&limit=10",
    "count of rows": "/api/results/count?run_id={run_id}",
    "coverage": "/api/results/coverage?run_id={run_id}",
    "log": "/api/logs",
    "log of a run": "/api/runs/{run_id}/logs",
    "log, errors": "/api/logs?level=error&limit=10",
    "log of a host": "/api/logs?host=www7.shop.example&limit=10",
    "log, a word": "/api/logs?text=rows&limit=10",
    "log, three filters": "/api/logs?run_id={run_id}&host=www7.shop.example&level=error&limit=10",
    "audit": "/api/audit",
    "schedules": "/api/schedules",
}


async def cost_ms(session: aiohttp.ClientSession, server: Server, path: str) -> float:
    """Return the CPU milliseconds of the API for a call."""
    before = cpu_s(server.pids["api"])
    for _ in range(CALLS):
        async with session.get(server.url + path) as answer:
            assert answer.status == 200, f"{path}: {await answer.text()}"
            await answer.read()
    return (cpu_s(server.pids["api"]) - before) * 1000.0 / CALLS


async def folder_of(place: Path, rows: int, tasks: int) -> Built:
    """Return a folder of a size; create it if it is missing."""
    note = place.with_suffix(".json")
    if not note.exists():
        built = await build(place / "data", pages=rows, rows=rows, logs=rows, tasks=tasks)
        note.write_bytes(msgspec.json.encode(built))
    return msgspec.json.decode(note.read_bytes(), type=Built)


async def measure(place: Path, rows: int) -> None:
    sizes = {"small": (SMALL, SMALL), "large": (rows, rows // 100)}
    built: dict[str, Built] = {}
    servers: dict[str, Server] = {}
    async with AsyncExitStack() as stack:
        for name, (many, tasks) in sizes.items():
            built[name] = await folder_of(place / name, many, tasks)
            process, servers[name] = await start(place / name, workers=0)
            stack.callback(process.terminate)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"})
        )
        print(f"| call | {SMALL:,} | {rows:,} | ratio |\n|---|---|---|---|")
        for what, path in LISTS.items():
            costs = await compare(session, servers, built, path)
            ratio = costs["large"] / costs["small"]
            print(f"| {what} | {costs['small']:.2f} ms | {costs['large']:.2f} ms | {ratio:.2f} |")
            sys.stdout.flush()
        await asyncio.sleep(2.0)
        still = await idle(servers["large"], 10.0)
        shares = ", ".join(f"{name} {share:.2f} %" for name, share in sorted(still.items()))
        print(f"\nIdle CPU on the large folder: {shares}.")


async def compare(
    session: aiohttp.ClientSession, servers: Mapping[str, Server], built: Mapping[str, Built], path: str
) -> dict[str, float]:
    """Return the median cost of a call on both folders, interleaved."""
    costs: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(ROUNDS):
        for name, server in servers.items():
            here = path.format(run_id=built[name].run_id, task_id=built[name].task_id)
            costs[name].append(await cost_ms(session, server, here))
    return {name: max(median(found), 0.01) for name, found in costs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = asked.folder or Path(scratch)
        asyncio.run(measure(place, asked.rows))


if __name__ == "__main__":
    main()
