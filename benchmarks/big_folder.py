"""A large data folder in a minute: one long run and many small tasks, written straight into the tables.

    python benchmarks/big_folder.py DIR [--pages 1000000] [--rows 1000000] [--logs 1000000] [--tasks 10000]

Everything agrees: counters, numbers, events; `smartspider fsck` finds nothing. Each task but the large one
has one small run. The large run is completed; of its pages, two in a hundred are missing and one is dead.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from smartspider.backends.sqlite.database import FILE, connect
from smartspider.core.frontier.verdict import Close, Settlement
from smartspider.core.logs import LogLine
from smartspider.core.requests.request import fingerprint
from smartspider.core.runs.run import Run
from smartspider.core.workers.worker import WorkerRegistration
from smartspider.installation.data_folder import DataFolder
from smartspider.taskfile.compile import compile_task
from smartspider.taskfile.load import parse_task
from smartspider.wiring.opening import open_folder

LARGE = "large"
HOST = "shop.example"
LINES_AT_ONCE = 5_000
LOST = {96: "missing", 97: "missing", 98: "dead"}
"""Final states of pages by the last two digits of their number."""

_encode = msgspec.json.Encoder().encode


class Built(msgspec.Struct, frozen=True):
    """The content of the folder."""

    run_id: int
    task_id: int
    pages: int
    rows: int
    logs: int
    tasks: int
    seconds: float


def task(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "url": "a::attr(href)",
        "title": "h2",
        "price": {"type": "css", "expr": "b", "steps": ["number"]},
        "stock": {"type": "css", "expr": "i", "steps": ["integer"]},
        "seen": "time",
        "tags": {"type": "css", "expr": "li", "many": True},
    }
    return {
        "name": name,
        "entry_urls": [f"https://{HOST}/{name}"],
        "selectors": {"items": ".product", "fields": fields},
        "politeness": {"delay_s": 0},
    }


def item(number: int) -> dict[str, Any]:
    return {
        "url": f"https://{HOST}/products/{number}",
        "title": f"Grüner Tee Nr. {number}, 茶 in a box of {number % 97}",
        "price": number % 10_000 / 100,
        "stock": number % 313 if number % 10 else None,
        "seen": f"2026-01-{number % 28 + 1:02d}T14:{number % 60:02d}:00+08:00",
        "tags": ["tea", f"t{number % 1_000}"],
    }


async def build(path: Path, *, pages: int, rows: int, logs: int, tasks: int) -> Built:
    """Create the folder, which must not exist."""
    started = time.perf_counter()
    with open_folder(path) as folder:
        small = await _small_run(folder, "small-0")
        large = await _small_run(folder, LARGE, finish=False)
        raw = connect(path / FILE)
        raw.execute("PRAGMA synchronous = OFF; BEGIN IMMEDIATE")
        _fill_run(raw, large, pages, rows)
        _copy_tasks(raw, small, tasks - 2)
        raw.execute("COMMIT")
        raw.close()
        large = await folder.store.finish(large.id)
        for start in range(0, logs, LINES_AT_ONCE):
            stop = min(start + LINES_AT_ONCE, logs)
            await folder.logs.add([_line(number, large, folder.clock.now()) for number in range(start, stop)])
    seconds = time.perf_counter() - started
    counters = large.counters
    return Built(large.id, large.task_id, counters.total, counters.items, logs, max(tasks, 2), seconds)


async def _small_run(folder: DataFolder, name: str, *, finish: bool = True) -> Run:
    """Crawl one page with one row in the usual way."""
    run = await folder.store.create_run(compile_task(parse_task(task(name))))
    await folder.store.set_state(run.id, "running")
    worker = await folder.frontier.join(WorkerRegistration("builder"))
    (lease,) = (await folder.frontier.lease(worker, 1, [run.id])).leases
    await folder.ledger.settle([Settlement(lease, Close("done", status=200, items=[item(0)]))])
    await folder.frontier.leave(worker)
    return await folder.store.finish(run.id) if finish else await folder.store.get_run(run.id)


def _fill_run(raw: apsw.Connection, run: Run, pages: int, rows: int) -> None:
    """Insert further pages and rows of a run, and update its counters."""
    base = run.id << 40
    ((entry_id, host_id, at),) = raw.execute("SELECT id, host_id, found_at FROM url WHERE id > ?", (base,))
    done = [number for number in range(2, pages + 1) if number % 100 not in LOST] or [1]
    each, more = divmod(max(rows - 1, 0), len(done))
    given = {number: each + (place < more) for place, number in enumerate(done)}

    def urls() -> Iterator[tuple[Any, ...]]:
        for number in range(2, pages + 1):
            url = f"https://{HOST}/category/{number % 977}/page/{number}"
            state = LOST.get(number % 100, "done")
            status = 200 if state == "done" else 404 if state == "missing" else None
            reason = "timeout" if state == "dead" else None
            yield (
                *(base + number, run.id, fingerprint(url), host_id, url, entry_id, state, reason, status),
                *(given.get(number, 0), at, at + number / 1e5),
            )

    def items() -> Iterator[tuple[int, int, str]]:
        for number in range(1, rows):
            yield base + 1 + number, base + done[(number - 1) % len(done)], _encode(item(number)).decode()

    raw.executemany(
        "INSERT INTO url (id, run_id, fingerprint, host_id, url, page, priority, depth, is_entry, parent_id,"
        " state, reason, status, items, found_at, closed_at)"
        " VALUES (?, ?, ?, ?, ?, 'default', 0, 1, 0, ?, ?, ?, ?, ?, ?, ?)",
        urls(),
    )
    raw.executemany("INSERT INTO item (id, url_id, data) VALUES (?, ?, ?)", items())
    lost = [LOST.get(number % 100) for number in range(2, pages + 1)]
    missing, dead = lost.count("missing"), lost.count("dead")
    raw.execute(
        "UPDATE run SET total = ?, done = ?, missing = ?, dead = ?, items = ?, next_url = ?, next_item = ?,"
        " bytes_read = ? WHERE id = ?",
        (
            *(max(pages, 1), max(pages, 1) - missing - dead, missing, dead, max(rows, 1)),
            *(max(pages, 1) + 1, max(rows, 1) + 1, pages * 20_000, run.id),
        ),
    )
    if done == [1] and rows > 1:
        raw.execute("UPDATE url SET items = ? WHERE id = ?", (rows, entry_id))


def _copy_tasks(raw: apsw.Connection, run: Run, count: int) -> None:
    """Copy the task of a small run together with its run."""
    ((last_task,),) = raw.execute("SELECT max(id) FROM task")
    ((last_run,),) = raw.execute("SELECT max(id) FROM run")
    for number in range(1, count + 1):
        task_id, run_id, name = last_task + number, last_run + number, f"small-{number}"
        shift = (run_id - run.id) << 40
        spec = _encode(task(name))
        own = {"id": run_id, "task_id": task_id, "task_name": name, "spec": spec, "spec_hash": name}
        _copy(raw, "task", run.task_id, {"id": task_id, "name": name})
        version = {"task_id": task_id, "spec": spec, "spec_hash": name}
        _copy(raw, "task_version", run.task_id, version, by="task_id")
        _copy(raw, "run", run.id, own)
        _copy(raw, "event", run.id, {"id": None, "run_id": run_id}, by="run_id")
        for table, more in (("url", {"run_id": run_id}), ("item", {})):
            raw.execute(
                f"INSERT INTO {table} SELECT {_columns(raw, table, {'id', 'url_id', *more})}"
                f" FROM {table} WHERE id >= :low AND id < :low + (1 << 40)",
                {"id": shift, "url_id": shift, "low": run.id << 40, **more},
            )


def _copy(raw: apsw.Connection, table: str, key: int, changed: dict[str, Any], by: str = "id") -> None:
    names = [name for _, name, *_ in raw.execute(f"PRAGMA table_info({table})")]
    chosen = ", ".join(f":{name}" if name in changed else name for name in names)
    raw.execute(
        f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE {by} = :_key", {**changed, "_key": key}
    )


def _columns(raw: apsw.Connection, table: str, changed: set[str]) -> str:
    """Return the columns of a table; ids are shifted, other changed columns are passed through."""
    told = []
    for _, name, *_ in raw.execute(f"PRAGMA table_info({table})"):
        if name in {"id", "url_id"}:
            told.append(f"{name} + :{name}")
        else:
            told.append(f":{name}" if name in changed else name)
    return ", ".join(told)


def _line(number: int, run: Run, now: float) -> LogLine:
    level = 40 if number % 100 == 0 else 30 if number % 10 == 0 else 20
    return LogLine(
        at=now,
        level=level,
        event="page.failed" if level == 40 else "page.done",
        text=f"page {number} of {HOST} came with {number % 7} rows",
        worker=f"worker-{number % 8}",
        task_id=run.task_id,
        run_id=run.id,
        host=f"www{number % 50}.{HOST}",
        url=f"https://www{number % 50}.{HOST}/page/{number}",
        error="TimedOut" if level == 40 else None,
        fields={"elapsed_s": number % 300 / 100},
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--logs", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    told = parser.parse_args()
    built = asyncio.run(
        build(told.folder, pages=told.pages, rows=told.rows, logs=told.logs, tasks=told.tasks)
    )
    print(_encode(built).decode())


if __name__ == "__main__":
    main()
