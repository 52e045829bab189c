"""The cost of polling and watching a server, for the API and for the crawl.

`python benchmarks/server.py [--rounds 3]`: a server on a private port crawls the benchmark site at a steady
rate, in turns alone and with 200 clients that ask for its status once a second and 50 that watch it over
WebSockets. Every watcher checks that the events it gets are numbered 1, 2, 3, ... to the end; half of them
break off in the middle and come back where they were.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
import bench_site
from compare import site_running

TOKEN = "token-of-the-benchmark"
PAGES = 2000
DELAY_S = 0.01
POLLERS = 200
WATCHERS = 50
TICK = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass
class Round:
    """The cost of one crawl."""

    worker_ms_per_page: float
    api_cpu_s: float
    api_mb: float
    calls: int = 0
    events: int = 0


@dataclass
class Server:
    """A server, and its processes."""

    url: str
    pids: dict[str, int] = field(default_factory=dict)


def staff_of(parent: int) -> dict[str, int]:
    """Return the processes of a server by role."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) != parent:
                continue
            line = stat.with_name("cmdline").read_text().split("\0")
        except OSError:
            continue
        module = next(part for part in line if part.startswith("smartspider."))
        found["api" if ".api." in module else module.rpartition(".")[2]] = int(stat.parent.name)
    return found


async def start(
    folder: Path, workers: int = 1, allowed: str = "127.0.0.1"
) -> tuple[asyncio.subprocess.Process, Server]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "smartspider", "up", "--port", "0", "--workers", str(workers), "--json"),
        *("--data", str(folder / "data")),
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "SMARTSPIDER_ADMIN_TOKEN": TOKEN,
            "SMARTSPIDER_ALLOW_PRIVATE": allowed,
            "SMARTSPIDER_RATE_LIMIT": "100000",
        },
    )
    assert process.stdout is not None
    server = Server(json.loads(await process.stdout.readline())["url"])
    server.pids = staff_of(process.pid)
    return process, server


def task(entry: str) -> dict[str, Any]:
    return {
        "name": "watched",
        "entry_urls": [entry],
        "selectors": {"items": "article.card", "fields": bench_site.FIELDS},
        "follow": [{"selector": "a.open, li.entry a"}],
        "politeness": {"robots": "ignore", "delay_s": DELAY_S, "per_host": 16, "adaptive": False},
        "concurrency": 16,
    }


async def crawl(session: aiohttp.ClientSession, server: Server, task_id: str, *, is_watched: bool) -> Round:
    worker, api = server.pids["worker_process"], server.pids["api"]
    before, api_before = cpu_s(worker), cpu_s(api)
    async with session.post(f"{server.url}/api/tasks/{task_id}/start") as answer:
        run = (await answer.json())["run_id"]
    over = asyncio.Event()
    watchers = [
        asyncio.create_task(watch(session, server, run, number)) for number in range(WATCHERS * is_watched)
    ]
    pollers = [asyncio.create_task(poll(session, server, run, over)) for _ in range(POLLERS * is_watched)]
    while True:
        await asyncio.sleep(0.5)
        async with session.get(f"{server.url}/api/runs/{run}/metrics") as answer:
            status = await answer.json()
        if status["state"] == "completed":
            break
    over.set()
    assert status["success_count"] == PAGES, status
    events = await asyncio.gather(*watchers)
    calls = sum(await asyncio.gather(*pollers))
    assert len(set(events)) <= 1, f"watchers saw different numbers of events: {sorted(set(events))}"
    await asyncio.sleep(0.5)
    return Round(
        (cpu_s(worker) - before) * 1000.0 / PAGES, cpu_s(api) - api_before, memory_mb(api), calls, sum(events)
    )


async def poll(session: aiohttp.ClientSession, server: Server, run: str, over: asyncio.Event) -> int:
    """Poll once a second. Return the number of polls."""
    calls = 0
    await asyncio.sleep(random.random())
    while not over.is_set():
        async with session.get(f"{server.url}/api/runs/{run}") as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()
        calls += 1
        await asyncio.sleep(1.0)
    return calls


async def watch(session: aiohttp.ClientSession, server: Server, run: str, number: int) -> int:
    """Watch to the end; check that no event is missing or repeated. Return the last number."""
    last, is_over = 0, False
    drop_at = random.randint(5, 40) if number % 2 else None
    while not is_over:
        async with session.ws_connect(
            f"{server.url}/api/runs/{run}/events", params={"after": last}
        ) as socket:
            async for message in socket:
                event = json.loads(message.data)
                if event.get("id") is None:
                    continue
                assert event["id"] == last + 1, f"event {event['id']} after {last}"
                last = event["id"]
                is_over = event["event"] == "run.state" and event["data"]["to"] == "completed"
                if drop_at is not None and last >= drop_at:
                    drop_at = None
                    break
    return last


async def polled_only(session: aiohttp.ClientSession, server: Server, run: str, calls: int = 2000) -> float:
    """Return the CPU milliseconds of the API for a status call while nothing else runs."""
    before = cpu_s(server.pids["api"])
    for _ in range(calls):
        async with session.get(f"{server.url}/api/runs/{run}") as answer:
            await answer.read()
    return (cpu_s(server.pids["api"]) - before) * 1000.0 / calls


async def idle(server: Server, seconds: float) -> dict[str, float]:
    """Return the per cent of a core that each idle process uses."""
    before = {name: cpu_s(pid) for name, pid in server.pids.items()}
    await asyncio.sleep(seconds)
    return {name: (cpu_s(pid) - before[name]) / seconds * 100.0 for name, pid in server.pids.items()}


async def measure(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder, site_running(PAGES, 1) as base:
        process, server = await start(Path(folder))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            async with session.post(f"{server.url}/api/tasks", json=task(bench_site.entry(base))) as answer:
                task_id = (await answer.json())["id"]
            await crawl(session, server, task_id, is_watched=False)
            alone, watched = [], []
            for _ in range(rounds):
                alone.append(await crawl(session, server, task_id, is_watched=False))
                watched.append(await crawl(session, server, task_id, is_watched=True))
            call_ms = await polled_only(session, server, "1")
            still = await idle(server, 10.0)
        process.terminate()
        await process.wait()
    show(alone, watched, call_ms, still)


def show(alone: list[Round], watched: list[Round], call_ms: float, still: dict[str, float]) -> None:
    quiet = median(one.worker_ms_per_page for one in alone)
    seen = median(one.worker_ms_per_page for one in watched)
    pairs = zip(alone, watched, strict=True)
    many = median((two.api_cpu_s - one.api_cpu_s) * 1000.0 / two.calls for one, two in pairs)
    calls, events = sum(one.calls for one in watched), sum(one.events for one in watched)
    first, last = watched[0].api_mb, watched[-1].api_mb
    shares = ", ".join(f"{name} {share:.2f} %" for name, share in sorted(still.items()))
    eyes = f"{POLLERS} pollers and {WATCHERS} watchers"
    print("| | |\n|---|---|")
    print(f"| worker CPU a page, alone | {quiet:.2f} ms |")
    print(f"| worker CPU a page, {eyes} | {seen:.2f} ms ({seen / quiet - 1:+.1%}) |")
    print(f"| API CPU a status call, one after the other | {call_ms:.2f} ms |")
    print(f"| API CPU a status call, {eyes}, all of the API's work | {many:.2f} ms |")
    print(f"| status calls; events the watchers got | {calls:,}; {events:,} |")
    print("| events missed or seen twice | 0 |")
    print(f"| API memory after the first and the last watched crawl | {first:.0f} MB, {last:.0f} MB |")
    print(f"| idle CPU | {shares} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(measure(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
